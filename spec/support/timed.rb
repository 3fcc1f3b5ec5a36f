# frozen_string_literal: true

require "fileutils"

# Measures examples marked `:timed` again. They compare a profile with clocks, and a guest of a busy host can stand still for
# milliseconds, which count for whoever ran. An example that fails is run again from the beginning, {TIMES} times at most; that is
# counted and printed at the end of the run. A run with more than {MAX_RETRIED} such examples fails: more cannot be an accident. A child that
# died is never retried. With SPEC_STRICT=1 nothing is.
module Timed
  STRICT = ENV["SPEC_STRICT"] == "1"
  TIMES = 4
  MAX_RETRIED = 10
  DEATH = /\[BUG\]|SIG(SEGV|ABRT|BUS|ILL)|panicked/.freeze

  # Descriptions and failures of the examples that were measured again.
  @retried = {}

  class << self
    attr_reader :retried

    # The last lines of a run.
    def summary
      return "timed: no retry (SPEC_STRICT=1)" if STRICT

      ["timed: #{retried.size} measured again (at most #{MAX_RETRIED} may be)", *retried.keys.map { |example| "  #{example}" }].join("\n")
    end

    # The last notification of a run, after the summary of the formatter.
    def close(_notification)
      RSpec.configuration.output_stream.puts(summary)
    end

    def check
      raise "more than #{MAX_RETRIED} examples had to be measured again: #{retried.keys.join(", ")}" if retried.size > MAX_RETRIED
    end
  end

  # The +it+ of every group.
  def it(*what, **metadata, &block)
    return super if STRICT || !block || !(what.include?(:timed) || metadata[:timed])

    super(*what, caller: caller, **metadata) do |example|
      failures = 0
      begin
        instance_exec(example, &block)
      rescue RSpec::Expectations::ExpectationNotMetError => e
        failures += 1
        raise if failures > TIMES || e.message.match?(DEATH)

        Timed.retried[example.full_description] = e.message
        RSpec.configuration.reporter.message("measured again: #{example.full_description}: #{e.message}")
        start_over
        retry
      end
    end
  end

  # Removes the files of the first run, and what +let+ made for it.
  module StartingOver
    def start_over
      box = (self.box if respond_to?(:box))
      Dir.each_child(box) { |name| FileUtils.remove_entry(File.join(box, name)) } if box
      __init_memoized
    end
  end
end

RSpec.configure do |config|
  config.extend Timed
  config.include Timed::StartingOver
  config.before(:suite) { config.reporter.register_listener(Timed, :close) }
  config.after(:suite) { Timed.check }
end
