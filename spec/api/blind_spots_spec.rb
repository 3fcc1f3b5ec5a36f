# frozen_string_literal: true

# No session can observe all of a process. The rest is counted and noted.
RSpec.describe "Profiler::Profile" do
  it "notes Ractors that are not profiled" do
    note = "threads of other Ractors are not in this profile, nor are the objects that they made"
    result = ruby_child("-W0", "-e", <<~RUBY)
      require "profiler"
      p Profiler.run { }.meta[:notes]
      ractor = Ractor.new { Ractor.receive }
      p Profiler.run { }.meta[:notes]
    RUBY
    expect(result.out).to eq(%([]\n["#{note}"]\n)), result.err
  end

  it "notes M:N threads, and refuses :wall with them" do
    skip "this Ruby has no M:N threads" if RUBY_VERSION < "3.3"

    result = ruby_child("-e", "require 'profiler'; puts Profiler.run { }.meta[:notes]", env: { "RUBY_MN_THREADS" => "1" })
    expect(result.out).to match(/\ARUBY_MN_THREADS: .* native ones\n\z/), result.err
    result = ruby_child("-e", "require 'profiler'; Profiler.run(mode: :wall) { }", env: { "RUBY_MN_THREADS" => "1" })
    expect(result.err).to include("mode: :wall cannot be measured here: with RUBY_MN_THREADS")
  end

  it "notes the CPU time of threads that are not profiled" do
    result = ruby_child("-W0", "-e", <<~RUBY)
      require "profiler"
      def unseen(&block) = Profiler.run(&block).then { |it| [it.stats[:unseen_cpu_ns], it.report[/^.*of CPU .*other Ractors/]] }
      used = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) }
      work = -> { Ractor.new { 3_000_000.times { |it| it + 1 } }.then { |it| it.respond_to?(:take) ? it.take : it.value } }
      before = used.call
      ns, line = unseen(&work)
      p ns.between?((used.call - before) / 2, used.call - before), line ? true : false
      p unseen { till = used.call + 200_000_000; 10.times { } while used.call < till }[1]
      session = Profiler.start(threads: :current)
      work.call
      p session.stop.stats[:unseen_cpu_ns]
    RUBY
    expect(result.out).to eq("true\ntrue\nnil\n0\n"), result.err
  end

  it "has the CPU time of Ruby threads that share native threads" do
    skip "this Ruby has no M:N threads" if RUBY_VERSION < "3.3"

    result = ruby_child("-e", <<~RUBY, env: { "RUBY_MN_THREADS" => "1" })
      require "profiler"
      used = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) }
      before = used.call
      profile = Profiler.run do
        8.times.map { Thread.new { 5.times { 100_000.times { |it| it.to_s }; sleep 0.001 } } }.each(&:join)
      end
      p profile.samples.sum(&:cpu).fdiv(used.call - before)
    RUBY
    expect(Float(result.out)).to be > 0.8, result.err
  end
end
