# frozen_string_literal: true

# Writes down how each test of a foreign suite ended, one line per test. Loaded into the process of the suite by -r, or by
# ruby_runner.rb; knows minitest, test-unit, RSpec and the runner in Ruby's own source.
#
# COMPATIBILITY_RESULTS names the file. COMPATIBILITY_ONLY has the tests to run, one a line; all others are passed by.
# COMPATIBILITY_LABELS puts a label and a scope around each test. They are taken out of the environment: what a test
# starts is not part of this.
module CompatibilityRecorder
  RESULTS = ENV.delete("COMPATIBILITY_RESULTS") || abort("recorder: COMPATIBILITY_RESULTS names no file")
  ONLY = ENV.delete("COMPATIBILITY_ONLY")&.split("\n")
  LABELS = !ENV.delete("COMPATIBILITY_LABELS").nil?
  PID = Process.pid
  LOCK = Mutex.new

  # Opened for each line, as some tests close every descriptor there is.
  def self.record(test, status)
    return unless Process.pid == PID

    line = "#{status}\t#{test.gsub(/[\t\r\n]/, " ")}\n".b
    LOCK.synchronize { File.open(RESULTS, "ab") { |file| file.write(line) } }
  end

  def self.wanted?(test)
    ONLY.nil? || ONLY.include?(test)
  end

  # Runs the block, which is the test.
  def self.around(test)
    return yield unless LABELS

    before = Profiler.const_get(:Labels).current
    begin
      Profiler.const_get(:Labels).enter_scope(before, Profiler.const_get(:Labels).new_scope)
      Profiler.label(test: test) do
        yield.tap { record("(label of) #{test}", "lost") unless Profiler.labels[:test] == test.byteslice(0, 256) }
      end
    ensure
      Profiler.const_get(:Labels).leave(before)
    end
  end

  # Hooks Ruby's own runner, tool/lib/test/unit, which passes on how a test ended.
  module OwnTest
    def run(runner)
      test = "#{self.class}##{__name__}"
      return "" unless CompatibilityRecorder.wanted?(test)

      CompatibilityRecorder.around(test) { super }
    end
  end

  # See OwnTest.
  module OwnRunner
    def record(suite, method, assertions, time, error, *)
      status = error.nil? ? "passed" : "failed"
      status = "skipped" if error.is_a?(Test::Unit::PendedError)
      CompatibilityRecorder.record("#{suite}##{method}", status)
      super
    end
  end

  # See MinitestRun.
  def self.minitest(test, instance)
    return Minitest::Result.from(instance.call) unless wanted?(test)

    result = around(test) { yield }
    record(test, result.skipped? ? "skipped" : (result.passed? ? "passed" : "failed"))
    result
  end

  # Hooks minitest 5. Not Minitest::Test#run, which suites replace (Puma's does).
  module MinitestRun
    def run_one_method(suite, name)
      CompatibilityRecorder.minitest("#{suite}##{name}", -> { suite.new(name) }) { super }
    end
  end

  # Hooks minitest 6, which has no such method.
  module MinitestTest
    def run
      CompatibilityRecorder.minitest("#{self.class}##{name}", -> { self }) { super }
    end
  end

  # Hooks the test-unit gem.
  module TestUnitTest
    def run(result, **options, &block)
      test = "#{self.class}##{method_name}"
      return unless CompatibilityRecorder.wanted?(test)

      omitted = result.omission_count + result.pending_count
      CompatibilityRecorder.around(test) { super }
      skipped = result.omission_count + result.pending_count > omitted
      CompatibilityRecorder.record(test, skipped ? "skipped" : (passed? ? "passed" : "failed"))
    end
  end

  # Hooks RSpec.
  module RSpecExample
    def run(instance, reporter)
      test = "#{full_description} (#{id})"
      return true unless CompatibilityRecorder.wanted?(test)

      CompatibilityRecorder.around(test) { super }.tap { CompatibilityRecorder.record(test, execution_result.status.to_s) }
    end
  end

  def self.into(framework)
    case framework
    when "own"
      Test::Unit::TestCase.prepend(OwnTest)
      Test::Unit::Runner.prepend(OwnRunner)
    when "minitest"
      require "minitest"
      Minitest.respond_to?(:run_one_method) ? Minitest.singleton_class.prepend(MinitestRun) : Minitest::Test.prepend(MinitestTest)
    when "test-unit"
      require "test/unit"
      Test::Unit::TestCase.prepend(TestUnitTest)
    when "rspec"
      require "rspec/core"
      RSpec::Core::Example.prepend(RSpecExample)
    else
      abort "recorder: no framework #{framework.inspect} (allowed: own, minitest, test-unit, rspec)"
    end
  end
end

framework = ENV.delete("COMPATIBILITY_FRAMEWORK")
CompatibilityRecorder.into(framework) unless framework == "own" # that one is loaded by ruby_runner.rb
