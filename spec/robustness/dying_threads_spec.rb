# frozen_string_literal: true

# Ruby reports the exception that ends a thread after its thread-exit hook has run, and lists the thread all that time. A session
# that begins meanwhile finds a thread for which no second hook will run.
RSpec.describe "Threads that die of an exception while sessions begin" do
  include_context "with a program"

  def dying(mode, seconds: 4)
    run_json(<<~RUBY)
      $stderr = File.open(File::NULL, "w") # where Ruby says why they died, which lets others run
      done = false
      births = Thread.new { until done; Thread.new { Object.new.no_such_method }; sleep 0.002; end }
      collector = Thread.new { until done; GC.start; sleep 0.02; end }
      started = 0
      sessions = Array.new(2) do
        Thread.new do
          until done
            session = Profiler::Session.start(mode: #{mode.inspect})
            sleep 0.001
            session.stop
            started += 1
          end
        end
      end
      sleep #{seconds}
      done = true
      [*sessions, births, collector].each(&:join)
      print_json(started)
    RUBY
  end

  [:wall, :cpu, %i[wall allocations]].each do |mode|
    it "leave a process alive that profiles #{mode.inspect}" do
      expect(dying(mode)).to be_positive
    end
  end

  it "count as waiting until they are over, and no longer", if: RUBY_VERSION >= "3.3" do
    lived, most, later = run_json(<<~RUBY)
      # Reports that take their time.
      reported = Queue.new
      slow = Object.new
      slow.define_singleton_method(:write) { |*texts| reported << true; sleep 0.2; texts.sum(&:size) }
      $stderr = slow
      thread = Thread.new { sleep 0.05; raise "dead" }
      thread.name = "dies"
      reported.pop
      begun = now
      session = Profiler::Session.start(mode: :wall) # it is listed, and has not reported its end
      thread.join rescue nil
      most = now - begun + 500_000_000
      sleep 1
      profile = session.stop
      $stderr = STDERR
      lived = profile.samples.select { |sample| sample.thread_name == "dies" }.sum(&:wall)
      print_json([lived, most, Profiler.run(mode: :wall) { sleep 0.05 }.samples.map(&:thread_name)])
    RUBY
    expect(lived).to be_between(20_000_000, most)
    expect(later).to include("main").and satisfy { |names| !names.include?("dies") }
  end
end
