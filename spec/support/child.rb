# frozen_string_literal: true

require "rbconfig"
require "tmpdir"

# Runs a program to its end, for specs that test what a whole process does: its output, its files, its
# status. Included into every example group.
module Child
  ROOT = File.expand_path("../..", __dir__)
  LIB = File.join(ROOT, "lib")
  EXE = File.join(ROOT, "exe", "profiler")

  # Variables of the outer environment that must not reach the children.
  CLEAN = ENV.keys.grep(/\APROFILER_/).to_h { |name| [name, nil] }
             .merge("PROFILER_ENGINE" => ENV["SPEC_ENGINE"]) # rake check:setitimer
             .merge("PROFILER_CONTROL" => "0") # or they would listen in the directory of the user
             .merge("RUBYOPT" => nil, "RUBYLIB" => nil, "NO_COLOR" => nil, "CLICOLOR_FORCE" => nil).freeze

  # +out+ and +err+ are Strings, +status+ is a Process::Status.
  Result = Struct.new(:out, :err, :status) do
    # The status as of a shell: 128+N for signal N.
    def code
      status.exitstatus || (128 + status.termsig)
    end
  end

  class TimedOut < StandardError; end

  # Runs this Ruby with our lib on its path.
  #
  #   ruby_child("-e", "puts 1").out
  #   ruby_child("spec/programs/burn.rb", "200", env: { "SEED" => "1" }, ruby_options: ["-W2"])
  #
  # @param args [Array<String>] a script's path or +-e+ and code, then the program's arguments
  # @param env [Hash] nil as a value takes a variable away
  # @param timeout [Numeric] seconds; then the child's process group is killed and the example fails
  # @param ruby_options [Array<String>] before the script
  # @param chdir [String] where it runs
  # @param stdin [String] what it reads
  # @yield [Integer] the pid, once it runs
  # @return [Result]
  def ruby_child(*args, env: {}, timeout: 60, ruby_options: [], **options, &block)
    command_child(RbConfig.ruby, "-I", LIB, *ruby_options, *args, env: env, timeout: timeout, **options, &block)
  end

  # Runs the command +profiler+ of this checkout. Keywords as for {ruby_child}.
  #
  #   profiler_child("record", "--out", "a.svg", "--", "ruby", "-e", "1", chdir: box)
  #
  # @return [Result]
  def profiler_child(*args, **options, &block)
    command_child(RbConfig.ruby, EXE, *args, **options, &block)
  end

  # Runs any program. Keywords as for {ruby_child}.
  #
  # @return [Result]
  def command_child(*command, env: {}, timeout: 60, chdir: ROOT, stdin: "", &block)
    Dir.mktmpdir("child") do |box|
      # Files, not pipes: a grandchild that outlives the child cannot keep us waiting for the end of a pipe.
      files = %w[in out err].map { |name| File.join(box, name) }
      File.binwrite(files[0], stdin)
      redirections = { in: files[0], out: [files[1], "w"], err: [files[2], "w"] }
      pid = Process.spawn(CLEAN.merge(env), *command, chdir: chdir, pgroup: true, **redirections)
      status = wait_for(pid, timeout, &block)
      out, err = files.drop(1).map { |file| File.read(file, encoding: Encoding::UTF_8) }
      err = err.scrub # a report of a crash may have anything in it
      raise TimedOut, "#{command.inspect} ran longer than #{timeout} s\n#{out}\n#{err}" unless status

      Result.new(out, err, status)
    end
  end

  # Returns the statement that loads a file of spec/programs, for a program that is given as text.
  def require_program(name)
    "require #{File.join(ROOT, "spec/programs/#{name}.rb").dump}"
  end

  # Waits until the block is true, for up to +seconds+.
  def wait_until(seconds = 20)
    till = monotonic + seconds
    until (value = yield)
      raise TimedOut, "it did not come true in #{seconds} s" if monotonic > till

      sleep 0.01
    end
    value
  end

  private

  def monotonic
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # @return [Process::Status, nil] nil if it had to be killed
  def wait_for(pid, timeout)
    yield pid if block_given?
    till = monotonic + timeout
    status = nil
    sleep 0.01 until (status = Process.wait2(pid, Process::WNOHANG)&.last) || monotonic > till
    return status if status

    Process.kill(:KILL, -pid) # the group: what it started goes with it
    Process.wait(pid)
    nil
  rescue Exception # rubocop:disable Lint/RescueException -- a run that failed or was interrupted leaves no child behind
    Process.kill(:KILL, -pid) unless status
    raise
  end
end
