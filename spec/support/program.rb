# frozen_string_literal: true

require "json"

# A program under test: a child that has the profiler, and the methods below.
RSpec.shared_context "with a program" do
  methods = <<~'RUBY'
    require "json"
    require "profiler"
    # Uses CPU time.
    def burn(milliseconds = 60)
      till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) + milliseconds
      10.times { |number| number.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) < till
    end
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    # Runs for a while, whatever else does.
    def spin(milliseconds)
      till = now + (milliseconds * 1_000_000)
      20.times { |number| number.to_s } while now < till
    end
    # CPU time of this thread in ns; and what a block takes of it.
    def cpu_now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    def cpu_of(before = cpu_now) = yield.then { cpu_now - before }
    # Burns CPU time in pieces: if the machine stands still, that counts as CPU time of one piece, and the others still run.
    def burn_in_pieces(milliseconds) = (milliseconds / 20).times { burn(20) }
    # Waits until the block is true, not for ever.
    def wait_for(till = now + 20_000_000_000)
      sleep 0.01 until (value = yield) || now > till
      value
    end
    # "Class: message" of what the block raises, or "none".
    def error = yield.then { "none" } rescue "#{$!.class}: #{$!.message}"
    # The samples of a method, and of all that it calls.
    def samples_in(profile, name) = profile.samples.select { |row| row.frames.any? { |frame| name === frame.name } }
    # The number of allocated objects of a class.
    def objects_of(profile, name) = profile.samples.select { |row| row.labels["class"] == name }.sum(&:alloc_objects)
    # Waits until no session runs: that of watched requests ends after a second without one. Returns the number that still do.
    def open_sessions
      wait_for { !Profiler.running? }
      ObjectSpace.each_object(Profiler::Session).count(&:running?)
    end
    # The value of the block in a child.
    def in_fork
      reader, writer = IO.pipe
      pid = fork { writer << JSON.generate(yield); exit!(0) }
      writer.close
      JSON.parse(reader.read).tap { Process.wait(pid) }
    end
    # The result of a program.
    def print_json(values) = puts(JSON.generate(values))
  RUBY

  # A spec can +let(:prelude)+ for what its programs have in common.
  #
  # @param child [Symbol] the method that runs the code, such as {Child#ruby_child}
  # @param err [#matches?] what it prints on stderr
  # @return [String] what it prints
  define_method(:run) do |code, child: :ruby_child, err: eq(""), **options|
    result = public_send(child, "-e", "#{methods}#{prelude}\n#{code}", **options)
    expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 4_000]}"
    expect(result.err).to err
    result.out
  end

  # Runs a program that ends with +print_json+.
  #
  # @return [Object] its result; the keys of a Hash are Symbols
  def run_json(code, **options)
    JSON.parse(run(code, **options), symbolize_names: true)
  end

  # Runs a program of spec/programs that prints JSON.
  #
  # @return [Object] see {#run_json}
  def program_json(name, *arguments, **options)
    result = ruby_child("spec/programs/#{name}.rb", *arguments, **options)
    expect(result.status).to be_success, result.err
    JSON.parse(result.out, symbolize_names: true)
  end

  let(:prelude) { "" }
end
