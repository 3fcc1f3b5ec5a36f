# frozen_string_literal: true

require "json"

# Law 1 of :wall: per thread the four parts add up to the wall clock of its life.
RSpec.describe "Wall clock time" do
  # From Ruby 3.3 on; before that the VM does not say who waits, and it is sampled.
  measured = RUBY_VERSION >= "3.3"
  def measured_only = (skip "waits are sampled here" if RUBY_VERSION < "3.3")

  runs = Integer(ENV.fetch("PROPERTY_RUNS", "9"))

  Array.new(runs) { Kernel.rand(1_000_000) }.each_with_index do |seed, run|
    mode = ["wall", "cpu,wall"][run % 2]
    interval = [1_000, 100, 10_000][run % 3]

    it "is each thread's life in the random program #{seed}, mode #{mode}, interval #{interval}", :timed do
      result = ruby_child("spec/programs/random_waits.rb", timeout: 120,
                          env: { "SEED" => seed.to_s, "INTERVAL" => interval.to_s, "MODE" => mode })
      expect(result.status).to be_success, result.err
      report = JSON.parse(result.out)

      expect(report["threads"]).not_to be_empty
      report["threads"].each do |thread|
        life, wall, blocked, parts = thread.values_at("life", "wall", "blocked", "parts")
        # The life was timed inside of what the profile sees of a thread, but for those who outlive the session.
        expect(wall).to be_within(20_000_000).of(life), "#{thread} of #{report}"
        expect(parts.values.sum).to eq(wall)
        expect(parts.values_at("gvl", "gc")).to eq(thread.values_at("gvl_wait", "gc"))
        next unless thread["ended"]

        unless measured
          # Running is what the CPU clock says, and what it does not say is waiting.
          expect(parts["gvl"]).to eq 0
          expect(parts["running"] + parts["gc"]).to be_within(5_000_000).of(thread["cpu"]), "#{thread} of #{report}"
          next
        end
        # Time in calls that block is no running time, and no other time is waiting time.
        expect(parts["waiting"]).to be <= blocked + 2_000_000, "#{thread} of #{report}"
        expect(parts["running"] + parts["gc"]).to be <= thread["at_work"] - blocked + thread["not_blocked"] + 10_000_000, "#{thread} of #{report}"
      end
      expect(report["threads"].sum { |it| it["wall"] }).to be <= report["all"]
    end
  end

  def printed(code)
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      def spin(milliseconds)
        till = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) + milliseconds
        20.times { |number| number.to_s } while Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) < till
      end
      def share(samples, of) = samples.sum(&:wall).zero? ? 0 : samples.select { |one| one.frames.any? { |frame| frame.name == of } }.sum(&:wall).fdiv(samples.sum(&:wall))
      #{code}
    RUBY
    expect(result.err).to eq("")
    result.out.lines(chomp: true)
  end

  it "includes waits that began before the session or outlive it", :timed do
    names = printed(<<~RUBY)
      def in_a_nap = sleep
      def till_the_end = Queue.new.pop
      early = Thread.new { in_a_nap }
      sleep 0.01 until early.stop?
      session = Profiler.start(mode: :wall)
      late = Thread.new { till_the_end }
      sleep 0.05
      puts session.snapshot.samples.flat_map { |one| one.frames.map(&:name) }.uniq.grep(/in_a_nap|till_the_end/).sort.join(" ")
      sleep 0.05
      profile = session.stop
      rows = profile.samples.select { |one| one.state == :waiting && one.frames.any? { |frame| frame.name =~ /in_a_nap|till_the_end/ } }
      puts rows.map { |one| one.wall / 1_000_000 }.inspect, profile.stats[:duration_ns] / 1_000_000
    RUBY
    expect(names[0]).to eq("Object#in_a_nap Object#till_the_end")
    expect(JSON.parse(names[1])).to match([be_between(95, Integer(names[2]) + 1)] * 2)
  end

  it "is shared between two alternating waits, whatever the interval", :timed do
    share = printed(<<~RUBY).first
      def one = sleep(0.0006)
      def two = sleep(0.0006)
      profile = Profiler.run(mode: :wall, interval: 1000) { 1500.times { one; two } }
      puts share(profile.samples.select { |one| one.state == :waiting && one.frames.any? { |frame| frame.name =~ /one|two/ } }, "Object#one")
    RUBY
    # Some 1,800 waits are captured; a share of half has a standard deviation of 0.012. Where signals have to arrive in
    # time, a machine that is busy gives one more than the other.
    expect(Float(share)).to be_within(measured ? 0.06 : 0.15).of(0.5)
  end

  it "is not shifted from long waits to short ones", :timed do
    took, share = printed(<<~RUBY)
      $took = Hash.new(0.0)
      def timed(name, since = Process.clock_gettime(Process::CLOCK_MONOTONIC)) = yield.tap { $took[name] += Process.clock_gettime(Process::CLOCK_MONOTONIC) - since }
      def long = timed(:long) { sleep(0.05) }
      def short = timed(:short) { sleep(0.001) }
      profile = Profiler.run(mode: :wall, interval: 1000, threads: :current) { 20.times { long; short } }
      puts $took[:long] / $took.values.sum
      puts share(profile.samples.select { |one| one.state == :waiting && one.frames.any? { |frame| frame.name =~ /long|short/ } }, "Object#long")
    RUBY
    # Where the ticker comes late, the short one has more: half of what lies between two ticks that find the one and the other.
    expect(Float(share)).to be_within(measured ? 0.06 : 0.15).of(Float(took))
  end

  it "separates running from waiting where both alternate", :timed do
    running, waiting = printed(<<~RUBY)
      def runs = 2_000.times { |number| number.to_s }
      def waits = sleep(0.0007)
      profile = Profiler.run(mode: :wall, interval: 1000, threads: :current) { 800.times { runs; waits } }
      puts share(profile.samples.select { |one| one.state == :running }, "Object#runs")
      puts share(profile.samples.select { |one| one.state == :waiting }, "Object#waits")
    RUBY
    expect(Float(running)).to be > 0.75
    expect(Float(waiting)).to be > 0.85
  end

  it "is shared between two alternating waits for the GVL", :timed do
    measured_only
    share, enough = printed(<<~RUBY)
      busy = Thread.new { spin(100_000) }
      def one = Thread.pass
      def two = Thread.pass
      profile = Profiler.run(mode: :wall, interval: 100_000, threads: :current) { 36.times { one; two } }
      busy.kill
      gvl = profile.samples.select { |one| one.state == :gvl }
      puts share(gvl, "Object#one"), gvl.sum(&:gvl_wait) > 1_000_000_000
    RUBY
    # Some 72 waits of a time slice each; a share of half has a standard deviation of about 0.06.
    expect(Float(share)).to be_within(0.25).of(0.5)
    expect(enough).to eq("true")
  end

  it "attributes a GC to the stack that caused it, all of it" do
    measured_only
    lines = printed(<<~RUBY)
      def collects = GC.start
      def allocates = 200_000.times { "x" * 60 }
      GC.start
      before = [GC.total_time, now]
      profile = Profiler.run(mode: %i[cpu wall], interval: 1_000) { 20.times { collects }; allocates }
      took, elapsed = GC.total_time - before[0], now - before[1]
      rows = profile.samples.select { |one| one.state == :gc }
      puts rows.all? { |one| one.frames.first.name == "(garbage collection)" }
      # Ruby's figure is CPU time, ours what passed meanwhile.
      puts rows.sum(&:gc) > took * 0.8 && rows.sum(&:gc) < elapsed, share(rows, "Object#collects") + share(rows, "Object#allocates")
      puts profile.samples.sum(&:gc) == rows.sum(&:wall)
    RUBY
    expect(lines[0]).to eq("true")
    expect(lines[1]).to eq("true")
    expect(Float(lines[2])).to be > 0.95
    expect(lines[3]).to eq("true")
  end

  it "counts only under the labels of the session", :timed do
    lines = printed(<<~RUBY)
      session = Profiler.start(mode: :wall, labels: { job: "a" })
      since = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Profiler.label(job: "a") { sleep 0.1; spin(55) }
      took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - since
      Profiler.label(job: "b") { sleep 0.1; spin(55) }
      rows = session.stop.samples
      puts rows.partition { |one| one.state == :waiting }.map { |some| some.sum(&:wall) / 10_000_000 }.inspect
      puts rows.map { |one| one.labels["job"] }.uniq.inspect, (took * 100).to_i
    RUBY
    waited, ran = JSON.parse(lines[0])
    # What a busy machine keeps a thread from running is waiting too, where that is all that is not running.
    expect([waited + ran, waited, lines[1]]).to match([be_within(2).of(Integer(lines[2])), measured ? 10 : (be >= 9), '["a"]'])
  end

  it "is measured in a forked child too", :timed do
    lines = printed(<<~RUBY)
      session = Profiler.start(mode: :wall)
      reader, writer = IO.pipe
      pid = fork do
        Thread.new { sleep 0.05 }.join
        sleep 0.05
        profile = session.stop
        again = Profiler.run(mode: :wall) { sleep 0.03 }
        writer.puts [profile, again].map { |it| it.samples.select { |one| one.state == :waiting }.sum(&:wall) / 1_000_000 }.inspect
      end
      Process.wait(pid)
      puts reader.gets
      session.stop
      sleep 0.01
      puts Profiler.run(mode: :wall) { sleep 0.03 }.samples.sum(&:wall) / 1_000_000
    RUBY
    expect(JSON.parse(lines[0])).to match([be_between(148, 400), be_between(28, 120)])
    expect(Integer(lines[1])).to be_between(30, 120)
  end

  it "is measured without shortening any of Ruby's waits", :timed do
    lines = printed(<<~RUBY)
      require "timeout"
      require "io/wait"
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      reader, _writer = IO.pipe
      lock, changed, asleep = Mutex.new, ConditionVariable.new, Thread.new { sleep }
      waits = {
        sleep: -> { sleep 0.3 }, select: -> { IO.select([reader], nil, nil, 0.3) }, join: -> { asleep.join(0.3) },
        mutex: -> { lock.synchronize { lock.sleep(0.3) } }, condition: -> { lock.synchronize { changed.wait(lock, 0.3) } },
        pop: -> { Timeout.timeout(0.3) { Queue.new.pop } rescue nil }, process: -> { Process.wait(spawn("sleep 0.3")) },
        read: -> { IO.popen("sleep 0.3; echo 1", &:read) }, readable: -> { reader.wait_readable(0.3) }, system: -> { system("sleep 0.3") }
      }
      profile = Profiler.run(mode: :wall, interval: 200) do
        threads = waits.map { |name, wait| [name, Thread.new { since = now; wait.call; now - since }] }
        threads.each { |name, thread| puts name unless (0.299..0.6).cover?(thread.value) }
      end
      puts profile.stats[:waits_interrupted]
    RUBY
    expect(lines.size).to eq(1), lines.inspect
    expect(Integer(lines.last)).to measured ? eq(0) : be_between(10, 1_000)
  end

  it "is measured with few interruptions of a wait before Ruby 3.3, and counts them", :timed do
    skip "no wait is interrupted here" if measured
    counts = printed(<<~RUBY).map { |line| Integer(line) }
      require "fiddle"
      int = Fiddle::TYPE_INT
      poll = Fiddle::Function.new(Fiddle.dlopen(nil)["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, int], int)
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 2
      ended = 0
      profile = Profiler.run(mode: :wall, interval: 1000, threads: :current) do
        ended += poll.call(nil, 0, 500).abs while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
      end
      puts ended, profile.stats[:waits_interrupted]
      puts Profiler.run(mode: :wall, interval: 1000) { sleep 2 }.stats[:waits_interrupted]
    RUBY
    # 2,000 ticks might interrupt. 4 and 5 do on a quiet machine. A wake-up begins a new wait, and on a busy machine the cost of
    # a tick varies: 160 were seen.
    expect(counts).to all be_between(1, 500)
    expect(counts[1]).to be >= counts[0]
  end

  it "is measured without EINTR in a thread that has released the GVL" do
    measured_only
    lines = printed(<<~RUBY)
      require "fiddle"
      libc = Fiddle.dlopen(nil)
      int, pointer = Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP
      poll = Fiddle::Function.new(libc["poll"], [pointer, Fiddle::TYPE_LONG, int], int)
      usleep = Fiddle::Function.new(libc["usleep"], [int], int)
      calls = { poll: -> { poll.call(nil, 0, 200) }, usleep: -> { usleep.call(200_000) } }
      Profiler.run(mode: :wall, interval: 1000) do
        busy = Thread.new { spin(900) }
        calls.map { |name, call| Thread.new { 4.times.map { call.call } } }.each { |thread| puts thread.value.inspect }
        busy.join
      end
    RUBY
    expect(lines).to eq(["[0, 0, 0, 0]"] * 2)
  end

  it "is measured with few interrupted calls in a thread that keeps the GVL", :timed do
    measured_only
    interrupted = printed(<<~RUBY).first
      require "fiddle"
      int = Fiddle::TYPE_INT
      poll = Fiddle::Function.new(Fiddle.dlopen(nil)["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, int], int, need_gvl: true)
      count = 0
      Profiler.run(mode: :wall, interval: 1000) do
        busy = Thread.new { spin(100_000) }
        till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 2
        count += poll.call(nil, 0, 200).abs while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
        busy.kill
      end
      puts count
    RUBY
    # 2,000 ticks might have; 2 % is what is allowed. Without the threshold it was one in seven.
    expect(Integer(interrupted)).to be <= 40
  end

  it "is broken down by state in the report", :timed do
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      profile = Profiler.run(mode: :wall) { sleep 0.1 }
      puts profile.report, profile.by(:state).first[:value]
      puts profile.inspect, profile.stats[:wall_ns] / 10_000_000
    RUBY
    expect(result.out).to match(/^mode      wall, engine ticker$/)
    expect(result.out).to match(/^wall      running .*, waiting (?:1\d\d|9\d\.\d+) ms, waiting for the GVL .*, collecting garbage /)
    expect(result.out).to match(/100\.0%|9\d\.\d% +Kernel#sleep/)
    expect(result.out).to match(/^waiting\n#<Profiler::Profile wall, 0\.1\d\d s, \d+ samples>\n1\d$/)
  end
end
