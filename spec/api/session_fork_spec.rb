# frozen_string_literal: true

# That time is conserved across forks is in laws/forks_spec.rb.
RSpec.describe "Profiler::Session in a process that forks" do
  include_context "with a program"

  it "continues in the child with the thread that forked" do
    expect(run(<<~RUBY)).to eq("true true\ntrue\n")
      session = Profiler.start(threads: :current)
      pid = fork do
        burn(80)
        profile = session.stop
        puts "\#{profile.samples.sum(&:cpu) > 70_000_000} \#{profile.stats[:samples] > 2}"
        $stdout.flush
      end
      Process.wait(pid)
      p $?.success?
    RUBY
  end

  it "does not run in a child forked by a thread that it does not profile" do
    expect(run(<<~RUBY)).to eq("true 0\ntrue\n")
      other = Thread.new { sleep }
      Thread.pass until other.stop?
      session = Profiler.start(threads: other)
      pid = fork do
        puts "\#{Profiler.run { burn }.samples.sum(&:cpu) > 30_000_000} \#{session.stop.samples.size}"
        $stdout.flush
      end
      Process.wait(pid)
      p $?.success?
    RUBY
  end

  it "ends in a child that is forked by another thread than its block's" do
    expect(run(<<~RUBY)).to match(/\Afalse false\nProfiler::NotRunning: the session belongs to a block on a thread .*\ntrue\n\z/)
      session, forked = nil, Queue.new
      inside = Thread.new { Profiler.run { session = ObjectSpace.each_object(Profiler::Session).first; forked.pop } }
      Thread.pass until inside.stop?
      pid = fork do
        puts "\#{session.running?} \#{Profiler.running?}"
        puts error { session.stop }
        $stdout.flush
      end
      Process.wait(pid)
      forked << :go
      p $?.success?
    RUBY
  end
end
