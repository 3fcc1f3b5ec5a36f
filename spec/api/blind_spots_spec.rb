# frozen_string_literal: true

# No session can observe all of a process. The rest is counted and noted.
RSpec.describe "Profiler::Profile" do
  include_context "with a program"

  it "notes Ractors that are not profiled" do
    expect(run_json(<<~RUBY, ruby_options: ["-W0"])).to eq([[], ["this profile has neither the threads of other Ractors nor the objects that they allocated"]])
      before = Profiler.run { }.meta[:notes]
      ractor = Ractor.new { Ractor.receive }
      print_json([before, Profiler.run { }.meta[:notes]])
    RUBY
  end

  it "notes M:N threads, and refuses :wall with them" do
    skip "this Ruby has no M:N threads" if RUBY_VERSION < "3.3"

    notes, refused = run_json("print_json([Profiler.run { }.meta[:notes], error { Profiler.run(mode: :wall) { } }])", env: { "RUBY_MN_THREADS" => "1" })
    expect(notes).to match([/\ARUBY_MN_THREADS is set: .* native ones\z/])
    expect(refused).to start_with("Profiler::Unsupported: mode: :wall cannot be measured here: with RUBY_MN_THREADS")
  end

  it "notes the CPU time of threads that are not profiled" do
    seen = run_json(<<~RUBY, ruby_options: ["-W0"])
      def unseen(&block) = Profiler.run(&block).then { |it| [it.stats[:unseen_cpu_ns], it.report[/^.*of CPU .*other Ractors/]] }
      used = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) }
      work = -> { Ractor.new { 3_000_000.times { |it| it + 1 } }.then { |it| it.respond_to?(:take) ? it.take : it.value } }
      before = used.call
      ractor = unseen(&work)
      took = used.call - before
      own = unseen { burn(200) }
      session = Profiler.start(threads: :current)
      work.call
      print_json(took: took, ractor: ractor, own: own[1], current: session.stop.stats[:unseen_cpu_ns])
    RUBY
    expect(seen).to match(took: be_positive, ractor: [be_between(seen[:took] / 2, seen[:took]), String], own: nil, current: 0)
  end

  it "has the CPU time of Ruby threads that share native threads" do
    skip "this Ruby has no M:N threads" if RUBY_VERSION < "3.3"

    cpu, used = run_json(<<~RUBY, env: { "RUBY_MN_THREADS" => "1" })
      used = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) }
      before = used.call
      profile = Profiler.run do
        8.times.map { Thread.new { 5.times { 100_000.times { |it| it.to_s }; sleep 0.001 } } }.each(&:join)
      end
      print_json([profile.samples.sum(&:cpu), used.call - before])
    RUBY
    expect(cpu).to be > used * 0.8
  end

  it "says of time that it did not record that it was not recorded, and not that the program waited" do
    paused, labels, collecting = run_json(<<~RUBY).map { |report| report.gsub(/\s+/, " ") }
      kept = Array.new(300_000) { |number| number.to_s }
      session = Profiler::Session.start
      session.pause
      sleep 0.3
      session.resume
      paused = session.stop
      labels = Profiler.run(labels: { job: "mail" }) { burn(100) }
      collecting = Profiler.run(ignore_gc: true) { 5.times { GC.start } }
      print_json([paused, labels, collecting].map(&:report))
    RUBY
    expect([paused, labels, collecting].join).not_to match(/used the CPU for|not running|mode wall/)
    expect(paused).to match(/note nothing was recorded for [\d.]+ m?s, as it was paused/)
    expect(labels).to include "note only what ran under these labels was recorded: job=mail"
    expect(collecting).to include "garbage collection is left out"
  end
end
