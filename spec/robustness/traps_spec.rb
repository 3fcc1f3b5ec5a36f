# frozen_string_literal: true

# In a trap handler a program can take no lock, so it can load no file by Kernel#require.
RSpec.describe "A trap handler" do
  include_context "with a program"

  # Runs each of these in a trap of a process of its own, as the first call there, and returns what it raised.
  def in_traps(calls)
    calls.to_h do |call|
      raised = run_json(<<~RUBY)
        profile = Profiler.run(timeline: true) { burn(20); Profiler.marker("m") }
        file = "#{Dir.mktmpdir}/a.pb.gz"
        profile.save(file)
        raised = nil
        trap("USR1") { raised = error { #{call} } }
        Process.kill("USR1", $$)
        wait_for { raised }
        print_json(raised)
      RUBY
      [call, raised]
    end
  end

  it "can measure, count, read, query and write" do
    calls = ["Profiler.run { burn(5) }", "Profiler.run(spans: true, out: file) { burn(5) }", "Profiler.start.tap(&:rotate).tap(&:snapshot).stop", "Profiler.metrics",
             "Profiler.allocations_of { Object.new }.objects == 1 or raise", "Profiler::Profile.load(file).samples.first.frames",
             "profile.timeline.first", "profile.markers.fetch(0)", "profile.tree", "profile.lines", "profile.find_methods(/burn/)", "profile.filter(focus: /burn/)",
             "profile.diff(profile)", "profile.merge(profile).findings", "profile.report && profile.inspect", "profile.save(file)", "profile.dump(:html)",
             "Profiler.label(a: 1) { Profiler.marker('b') }", "Profiler.name_of(method(:puts))", "Profiler.unsupported_reason and raise"]
    expect(in_traps(calls)).to eq(calls.to_h { |call| [call, "none"] })
    expect(in_traps(["Profiler.flight"])).to eq("Profiler.flight" => "Profiler::NotRunning: no flight recorder is running in this process")
  end

  it "cannot start threads of the profiler or search for leaks, with the error that Ruby itself raises" do
    calls = ["Profiler.control", "Profiler.leaks { }", "Profiler.continuous(out: file)", "Profiler.flight_recorder(out: file)", "Profiler::Middleware", "Profiler::Pprof"]
    expect(in_traps(calls)).to eq(calls.to_h { |call| [call, "ThreadError: can't be called from trap context"] })
  end
end
