# frozen_string_literal: true

# See laws/forks_spec.rb for the conservation of time across forks.
RSpec.describe "Profiler::Session in a process that forks" do
  include_context "with a program"

  it "continues in the child with the thread that forked" do
    expect(run_json(<<~RUBY)).to match(cpu: be > 70_000_000, samples: be > 2)
      session = Profiler.start(threads: :current)
      print_json(in_fork do
        burn_in_pieces(80)
        session.stop.then { |profile| { cpu: profile.samples.sum(&:cpu), samples: profile.stats[:samples] } }
      end)
    RUBY
  end

  # Ruby 3.1 knows the main thread of a child by the id that it had in the parent.
  it "profiles the main thread of a child when another thread starts it, even one of the profiler's own" do
    threads = run_json(<<~RUBY)
      ways = { all: ->(&block) { Thread.new(&block) }, main: ->(&block) { Thread.new(&block) }, own: ->(&block) { Profiler.const_get(:BackgroundThread).new("own", &block) } }
      print_json(ways.to_h do |name, thread|
        [name, in_fork do
          started = Queue.new
          thread.call { started << Profiler.start(**(name == :main ? { threads: Thread.main } : {})) }
          session = started.pop
          burn_in_pieces(80)
          session.stop.samples.sum(&:cpu)
        end]
      end)
    RUBY
    expect(threads).to match(all: be > 70_000_000, main: be > 70_000_000, own: be > 70_000_000)
  end

  it "does not run in a child forked by a thread that it does not profile" do
    expect(run_json(<<~RUBY)).to match(own: be > 30_000_000, others: 0)
      other = Thread.new { sleep }
      Thread.pass until other.stop?
      session = Profiler.start(threads: other)
      print_json(in_fork { { own: Profiler.run { burn }.samples.sum(&:cpu), others: session.stop.samples.size } })
    RUBY
  end

  it "ends in a child that is forked by another thread than its block's" do
    expect(run_json(<<~RUBY)).to match([false, false, /\AProfiler::NotRunning: the session belongs to a block on a thread /])
      session, forked = nil, Queue.new
      inside = Thread.new { Profiler.run { session = ObjectSpace.each_object(Profiler::Session).first; forked.pop } }
      Thread.pass until inside.stop?
      print_json(in_fork { [session.running?, Profiler.running?, error { session.stop }] })
      forked << :go
    RUBY
  end
end
