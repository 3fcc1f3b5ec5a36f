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

  # While Ruby lists its threads, some end. Only the list holds these, and a compaction moves them. (Ruby 3.1 can die of compactions.)
  it "begin among threads that end and are moved", if: RUBY_VERSION >= "3.3" do
    begun = run_json(<<~RUBY, timeout: 60)
      GC.auto_compact = true
      till = now + 6_000_000_000
      3.times { Thread.new { Array.new(30) { Thread.new { 50.times { |number| number.to_s } } } while now < till } }
      Thread.new { GC.start && GC.compact && sleep(0.0005) while now < till }
      begun = 0
      (Profiler.start.discard; begun += 1) while now < till
      print_json(begun)
      $stdout.flush
      exit!(0)
    RUBY
    expect(begun).to be > 10
  end

  # Ruby 3.3 and later free a thread's alternate stack with the Thread. Here that leaves a hole, where glibc would keep the memory,
  # and native threads take long to end.
  it "get no late tick once Ruby is done with them" do
    threads, late = run_json(<<~RUBY, env: { "MALLOC_MMAP_THRESHOLD_" => "4096" })
      require "fiddle"
      libc = Fiddle.dlopen(nil)
      key = Fiddle::Pointer.malloc(4)
      Fiddle::Function.new(libc["pthread_key_create"], [Fiddle::TYPE_VOIDP] * 2, Fiddle::TYPE_INT).call(key, libc["usleep"])
      number = key[0, 4].unpack1("I")
      set = Fiddle::Function.new(libc["pthread_setspecific"], [Fiddle::TYPE_INT, Fiddle::TYPE_LONG], Fiddle::TYPE_INT)
      Profiler::Testing.slow_ticks(2_000)
      Profiler.start(mode: :cpu, engine: :ticker, interval: 500)
      threads = 0
      till = now + 3_000_000_000
      while now < till
        threads += 4.times { Thread.new { set.call(number, 30_000); 3_000.times(&:to_s) } }
        sleep 0.003
        GC.start
      end
      Profiler.stop
      print_json([threads, Profiler::Testing.late])
    RUBY
    expect(threads).to be > 100
    expect(late).to be_positive, "no tick was late" if RUBY_VERSION < "3.3"
  end
end
