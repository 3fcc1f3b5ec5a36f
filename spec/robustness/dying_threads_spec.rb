# frozen_string_literal: true

# Ruby reports the exception that ends a thread after its thread-exit hook has run, and lists the thread all that time. A session
# that begins meanwhile finds a thread for which no second hook will run.
RSpec.describe "Threads that die of an exception while sessions begin" do
  def dying(mode, seconds: 4)
    ruby_child("-e", <<~RUBY, timeout: 60)
      require "profiler"
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
      puts "sessions \#{started.positive?}"
    RUBY
  end

  [:wall, :cpu, %i[wall allocations]].each do |mode|
    it "leave a process alive that profiles #{mode.inspect}" do
      result = dying(mode)
      expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 2_000]}"
      expect(result.out).to eq("sessions true\n")
    end
  end

  it "count as waiting until they are over, and no longer", if: RUBY_VERSION >= "3.3" do
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      # Reports that take their time.
      reported = Queue.new
      slow = Object.new
      slow.define_singleton_method(:write) { |*texts| reported << true; sleep 0.2; texts.sum(&:size) }
      $stderr = slow
      thread = Thread.new { sleep 0.05; raise "dead" }
      thread.name = "dies"
      reported.pop
      session = Profiler::Session.start(mode: :wall) # it is listed, and has told its end to nobody
      thread.join rescue nil
      sleep 0.5
      profile = session.stop
      $stderr = STDERR
      lived = profile.samples.select { |sample| sample.thread_name == "dies" }.sum(&:wall) / 1e9
      puts lived.between?(0.02, 1.2) ? "lived a part" : "lived \#{lived}"
      again = Profiler.run(mode: :wall) { sleep 0.05 }
      p again.samples.map(&:thread_name).include?("dies")
    RUBY
    expect(result.err).to eq("")
    expect(result.out).to eq("lived a part\nfalse\n")
  end
end
