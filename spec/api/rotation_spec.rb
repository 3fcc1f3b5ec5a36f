# frozen_string_literal: true

RSpec.describe "Session#rotate" do
  include_context "with a program"

  it "divides the time of a session" do
    result = run_json(<<~RUBY)
      whole, parts = nil, []
      around = cpu_now
      session = Profiler.start(mode: %i[cpu wall])
      whole = Profiler.start(mode: %i[cpu wall])
      inside = cpu_now
      8.times do
        burn(15)
        sleep 0.01
        Thread.new { burn(5) }.join
        parts << session.rotate
      end
      inside = cpu_now - inside
      whole = whole.stop
      parts << session.stop
      around = cpu_now - around
      sums = ->(profile) { [profile.samples.sum(&:cpu), profile.samples.sum(&:wall), profile.stats[:duration_ns]] }
      print_json(around: around, inside: inside, whole: sums[whole], parts: parts.map(&sums).transpose.map(&:sum),
                 each: parts.map { |it| it.samples.sum(&:cpu) },
                 gaps: parts.each_cons(2).map { |one, other| other.meta[:started_at_ns] - one.meta[:started_at_ns] - one.stats[:duration_ns] },
                 samples: parts.map { |it| it.stats[:samples] }, threads: parts.map { |it| it.samples.map(&:thread_name).uniq.size })
    RUBY
    # The one session begins before the other, and ends after it.
    more = result[:around] - result[:inside]
    expect(result[:parts][0]).to be_between(result[:whole][0] - 3_000_000, result[:whole][0] + more + 3_000_000)
    # A burn reads whole milliseconds, so it can be one short. That none has more than its own follows from the sum.
    expect(result[:each].first(8)).to all(be >= 18_000_000)
    expect(result[:samples].sum).to be > 40
    expect(result[:gaps].map(&:abs)).to all(be < 5_000_000)
  end

  it "counts each object once" do
    result = run_json(<<~RUBY)
      Kept = Class.new
      kept = []
      session = Profiler.start(mode: %i[allocations heap], every: 1)
      numbers = [100, 0, 250, 3]
      parts = numbers.map { |number| number.times { kept << Kept.new }; session.rotate }
      50.times { |place| kept[place] = nil }
      parts << session.stop
      live = ->(profile) { profile.samples.select { |row| row.labels["class"] == "Kept" }.sum(&:inuse_objects) }
      print_json(allocated: parts.map { |it| objects_of(it, "Kept") }, live: parts.map(&live))
    RUBY
    expect(result[:allocated]).to eq([100, 0, 250, 3, 0])
    expect(result[:live].first(4)).to eq([100, 100, 350, 353])
    expect(result[:live].last).to be_between(303, 310) # a dead one may still be on the machine stack
  end

  it "puts each marker and each event of the timeline into one profile" do
    result = run_json(<<~RUBY)
      session = Profiler.start(timeline: true)
      parts = %w[a b].map { |name| Profiler.marker(name) { burn_in_pieces(200) }; session.rotate }
      parts << session.stop
      print_json(markers: parts.map { |it| it.markers.map(&:name) },
                 longest: parts.map { |it| it.timeline.map(&:time).max.to_f / it.stats[:duration_ns] }, events: parts.map { |it| it.timeline.size })
    RUBY
    expect(result[:markers]).to eq([["a"], ["b"], []])
    expect(result[:events].first(2)).to all(be > 2) # one in each of the kernel's ticks, at least
    expect(result[:longest].first(2)).to all(be_between(0.3, 1.02))
  end

  it "adds what was not received to the next profile, and to no other" do
    result = run_json(<<~RUBY)
      Kept = Class.new
      session = Profiler.start(mode: :allocations, every: 1)
      numbers = (1..8).map do |number|
        number.times { Kept.new }
        [2, 3, 6].include?(number) ? session.rotate { break 0 } : objects_of(session.rotate, "Kept")
      end
      print_json([numbers, objects_of(session.stop, "Kept")])
    RUBY
    expect(result).to eq([[1, 0, 0, 2 + 3 + 4, 5, 0, 6 + 7, 8], 0])
  end

  [false, true].each do |gently|
    it "returns a part of its own to each thread that rotates it#{", gently" if gently}" do
      result = run_json(<<~RUBY, timeout: 120)
        Kept = Class.new
        session = Profiler.start(mode: :allocations, every: 1)
        counts = Array.new(3) do |number|
          Thread.new do
            Array.new(30) do
              500.times { Kept.new }
              eval("def new_\#{number} = 200.times { Object.new }; new_\#{number}") # something to name
              session.rotate(gently: #{gently}) { |profile| sleep(0.001); objects_of(profile, "Kept") }
            end
          end
        end.flat_map(&:value)
        print_json([counts.sum + objects_of(session.stop, "Kept"), counts.count(&:positive?) > 30])
      RUBY
      expect(result).to eq([3 * 30 * 500, true])
    end
  end

  it "loses nothing to exceptions from outside" do
    result = run_json(<<~RUBY, timeout: 120)
      Kept = Class.new
      session = Profiler.start(mode: :allocations, every: 1)
      made = interrupted = 0
      received = {} # by the start of the profile: one that begins there again has the contents of the first too
      till = now + 20_000_000_000
      while interrupted < 100 && now < till
        thread = Thread.handle_interrupt(RuntimeError => :never) do
          Thread.new do
            Thread.handle_interrupt(RuntimeError => :immediate) do
              loop do
                7.times { Kept.new; made += 1 } # an exception may come between these two
                gently = made.even?
                session.rotate(gently: gently) { |profile| received[profile.meta[:started_at_ns]] = objects_of(profile, "Kept") }
              end
            end
          rescue RuntimeError
            interrupted += 1
          end
        end
        sleep(rand * 0.02)
        thread.raise("now")
        thread.join
      end
      last = session.stop
      received[last.meta[:started_at_ns]] = objects_of(last, "Kept")
      print_json(lost: made - received.values.sum, made: made, interrupted: interrupted)
    RUBY
    expect(result).to match(lost: be_between(-result[:interrupted], 0), made: be > 500, interrupted: be > 20)
  end

  it "lets other threads run in between, if it is to be gentle", :timed do
    result = run_json(<<~RUBY, timeout: 120)
      session = Profiler.start(mode: :allocations, every: 1)
      counter = number = 0
      rotating = lambda do |gently|
        Array.new(4_000) { eval("def new_\#{number += 1} = Object.new; :new_\#{number}", binding, "new.rb") }.each { |it| send(it) }
        Thread.new do
          sleep 0.01
          before = counter
          profile = session.rotate(gently: gently)
          [counter - before, profile.samples.flat_map { |row| row.frames.map(&:name) }.grep(/new_/).uniq.size]
        end
      end
      counts = [true, false].map do |gently|
        thread = rotating[gently]
        counter += 1 while thread.alive?
        thread.value
      end
      print_json(counts)
    RUBY
    (others, named), (none, all) = result
    expect([named, all]).to eq([4_000, 4_000])
    expect(others).to be > 10 * [none, 100].max
  end

  it "names nothing in a child that a trap forks in the middle of it" do
    result = run_json(<<~RUBY, timeout: 120)
      session = Profiler.start(mode: :allocations, every: 1)
      parent, rotating, read, write = Process.pid, false, *IO.pipe
      trap("USR1") { (rotating = false) || fork if rotating }
      busy = Thread.new { loop { 1_000.times { |number| number + 1 } } } # so that others get turns
      number = 0
      outcomes = Array.new(6) do |round|
        3_000.times { eval("def new_\#{number += 1} = Object.new; new_\#{number}") }
        rotating = true
        Thread.new { sleep 0.004 * round; Process.kill(:USR1, parent) }
        here = error { session.rotate(gently: true) }
        rotating = false
        next here if Process.pid == parent

        GC.start
        write.puts(here)
        write.flush
        exit!(0)
      end
      busy.kill
      write.close
      statuses = Process.waitall.map { |_pid, status| status.to_s[/(exit|SIG).*/] }
      print_json(parent: outcomes, children: read.read.lines(chomp: true), statuses: statuses)
    RUBY
    expect(result[:parent]).to all(eq("none"))
    expect(result[:statuses]).to all(eq("exit 0"))
    expect(result[:children]).to include(/the process was forked while functions were being named: the profile belongs to the parent/)
    expect(result[:children].grep_v(/while functions were being named|none/)).to eq([])
  end

  it "leaves to the parent what a child inherits of an interrupted call" do
    expect(run_json(<<~RUBY)).to eq([1, 6])
      Kept = Class.new
      rotating = false
      trap("USR1") { (rotating = false) || raise("interrupted") if rotating } # once
      # Signals arrive in the middle of a call, where another thread would have to wait for its turn.
      pid = Process.pid
      helper = fork { loop { sleep(rand * 0.003); Process.kill(:USR1, pid) } }
      session = Profiler.start(mode: :allocations, every: 1)
      5.times { Kept.new }
      begin
        number = 0
        loop do
          # New methods have to be named in each call, which takes time.
          200.times { eval("def new_\#{number += 1} = Object.new; new_\#{number}") }
          rotating = true
          session.rotate { rotating = false; raise IOError }
        rescue IOError
          retry
        end
      rescue RuntimeError
        rotating = false
        Process.kill(:KILL, helper)
        Process.wait(helper)
        child = in_fork { Kept.new; objects_of(session.rotate, "Kept") }
        Kept.new
        print_json([child, objects_of(session.stop, "Kept")])
      end
    RUBY
  end

  it "goes on with the next profile in a forked child" do
    expect(run_json(<<~RUBY)).to eq([1, 1, [2, 0]])
      session = Profiler.start(mode: :allocations, every: 1)
      Kept = Class.new
      Kept.new
      first = objects_of(session.rotate, "Kept")
      Kept.new
      child = in_fork { 2.times { Kept.new }; [session.rotate, session.stop].map { |it| objects_of(it, "Kept") } }
      print_json([first, objects_of(session.stop, "Kept"), child])
    RUBY
  end
end
