# frozen_string_literal: true

# The blame for waiting for the GVL, the first turn of a thread, and the reasons of garbage collections.
RSpec.describe "A :wall profile" do
  before { skip "before Ruby 3.3 nothing says whose wait it is" if RUBY_VERSION < "3.3" }

  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    def named(name, &block) = Thread.new { Thread.current.name = name; block.call }
    def shown(row) = row.frames.map(&:name)
    def blamed(profile) = profile.samples.select { |row| row.gvl_blame.positive? }
  RUBY

  it "attributes all waiting for the GVL to what its holder did, labelled with the waiter" do
    blame = run_json(<<~RUBY)
      class Report; def render = (spin(5) until $done); end
      profile = Profiler.run(mode: :wall) do
        busy = named("renderer") { Profiler.label(job: "report") { Report.new.render } }
        named("waiter") { 5.times { sleep 0.002 } }.join
        $done = true
        busy.join
      end
      render = blamed(profile).select { |row| shown(row).include?("Report#render") }
      rows = render.select { |row| row.labels["waiter"] == "waiter" } # main waited as well, in join
      print_json(waited: profile.samples.sum(&:gvl_wait), blamed: profile.samples.sum(&:gvl_blame), render: render.sum(&:gvl_blame),
                 jobs: rows.map { |row| row.labels["job"] }.uniq, threads: rows.map(&:thread_name).uniq, wall: rows.sum(&:wall), count: rows.sum(&:count),
                 report: profile.report)
    RUBY
    expect(blame).to include(waited: be > 200_000_000, blamed: blame[:waited], render: be > blame[:waited] * 0.9,
                             jobs: ["report"], threads: ["renderer"], wall: 0, count: 0)
    expect(blame[:report]).to match(/^gvl +threads waited \S+ m?s for it, of which \S+ m?s behind (Object#spin|Integer#\w+)/)
  end

  it "blames threads outside of the session by name" do
    expect(run_json(<<~RUBY)).to match(holder: "renderer", frames: include("Report#render"), waiter: "main", own: ["main"], part: be > 0.95)
      class Report; def render = (spin(5) until $done); end
      busy = named("renderer") { Report.new.render }
      profile = Profiler.run(mode: :wall, threads: :current) { 5.times { sleep 0.001 } }
      $done = true
      busy.join
      top = blamed(profile).max_by(&:gvl_blame)
      part = blamed(profile).select { |row| shown(row).include?("Report#render") }.sum(&:gvl_blame).fdiv(profile.samples.sum(&:gvl_wait))
      print_json(part: part, holder: top.thread_name, frames: shown(top), waiter: top.labels["waiter"], own: profile.samples.reject { |row| row.gvl_blame.positive? }.map(&:thread_name).uniq)
    RUBY
  end

  [1_000, 10_000].each do |interval|
    it "blames what ran during the wait, not the place where the holder released the GVL, every #{interval} us", :timed do
      blame = run_json(<<~RUBY)
        class Hog
          def compute = spin(80)
          def log = sleep(0.0005)
        end
        profile = Profiler.run(mode: :wall, interval: #{interval}) do
          hog = named("hog") { 20.times { Hog.new.tap(&:compute).log } }
          victim = named("victim") { sleep 0.002 while hog.alive? }
          [hog, victim].each(&:join)
        end
        rows = blamed(profile).select { |row| row.labels["waiter"] == "victim" }
        of = ->(name) { rows.select { |row| shown(row).include?(name) }.sum(&:gvl_blame) }
        waited = profile.samples.select { |row| row.thread_name == "victim" }.sum(&:gvl_wait)
        print_json(waited: waited, blamed: rows.sum(&:gvl_blame), compute: of["Hog#compute"], log: of["Hog#log"], report: profile.report)
      RUBY
      expect(blame[:waited]).to be > 800_000_000
      # The waiting that no tick has reached is attributed to the last row, or to none: an interval at most.
      expect(blame[:blamed]).to be_within(interval * 2_000).of(blame[:waited])
      expect(blame[:compute]).to be > blame[:waited] * 0.95
      expect(blame[:log]).to be < blame[:waited] * 0.03
    end
  end

  it "blames a garbage collection on what caused it" do
    blame = run_json(<<~RUBY)
      class Hog
        def collect = GC.start
        def compute = spin(1)
      end
      HEAP = Array.new(300_000) { |number| [number] }
      profile = Profiler.run(mode: :wall) do
        hog = named("hog") { 30.times { Hog.new.tap(&:collect).compute } }
        named("victim") { sleep 0.001 while hog.alive? }.join
      end
      rows = blamed(profile).select { |row| row.labels["waiter"] == "victim" }
      collected = rows.select { |row| shown(row).first == "(garbage collection)" && shown(row).include?("Hog#collect") }
      print_json(blamed: rows.sum(&:gvl_blame), collected: collected.sum(&:gvl_blame))
    RUBY
    expect(blame[:blamed]).to be > 100_000_000
    expect(blame[:collected]).to be > blame[:blamed] * 0.5
  end

  it "blames what threads did that have ended since, and nobody when the GVL was free" do
    blame = run_json(<<~RUBY)
      class Job; def perform = spin(3); end
      profile = Profiler.run(mode: :wall, interval: 50) do
        30.times { named("short") { Job.new.perform }; sleep 0.001 }
        sleep 0.1
        10_000.times { sleep 0.0001 } # 0.15 us of waiting each, on a quiet machine
      end
      rows = blamed(profile).select { |row| row.labels["waiter"] == "main" }
      short = rows.select { |row| row.thread_name == "short" }
      nobody = rows.select { |row| shown(row) == ["(nobody)"] }
      print_json(blamed: profile.samples.sum(&:gvl_blame), waited: profile.samples.sum(&:gvl_wait), short: short.sum(&:gvl_blame),
                 job: short.select { |row| shown(row).include?("Job#perform") }.sum(&:gvl_blame), nobody: nobody.map(&:thread_name).uniq)
    RUBY
    expect(blame).to include(blamed: blame[:waited], short: be > 30_000_000, job: be > blame[:short] * 0.9)
    expect(blame[:nobody]).to eq(["main"]) # the thread that waited for nobody
  end

  it "counts a new thread's wait for its first turn, even if the session began during it", :timed do
    start, life, later = run_json(<<~RUBY)
      profile = Profiler.run(mode: :wall) { named("late") { sleep 0.01 }.tap { spin(80) }.join }
      start = profile.samples.find { |row| shown(row) == ["(thread start)"] && row.thread_name == "late" }

      late = named("later") { sleep 0.01 }
      spin(40) # it has no turn before its maker's is over
      begun = now
      session = Profiler.start(mode: :wall)
      late.join
      life = now - begun
      own = session.stop.samples.select { |row| row.thread_name == "later" }
      print_json([[start.state, start.gvl_wait], life, [own.sum(&:wall), own.sum(&:gvl_wait)]])
    RUBY
    expect(start).to match(["gvl", be_between(60_000_000, 400_000_000)])
    expect(later).to match([be_between(1, life), be_between(0, life)])
  end

  it "weighs alternating waits of different lengths by their time", :timed do
    share, took = run_json(<<~RUBY)
      def long = sleep(0.005)
      def short = sleep(0.0003)
      took = Hash.new(0)
      profile = Profiler.run(mode: :wall) do
        300.times { %i[long short].each { |name| since = now; send(name); took[name] += now - since } }
      end
      waits = profile.samples.select { |row| row.state == :waiting }
      print_json([waits.select { |row| shown(row).include?("Object#short") }.sum(&:wall).fdiv(waits.sum(&:wall)), took[:short].fdiv(took.values.sum)])
    RUBY
    # Some 1,700 points of which 7 % are expected here: a standard deviation of 0.01.
    expect(share).to be_within(0.04).of(took)
  end

  it "says why garbage was collected" do
    reasons, forced, report = run_json(<<~RUBY)
      profile = Profiler.run(mode: :wall, interval: 50) do
        20.times { GC.start }
        300_000.times { "x" * 30 }
      end
      rows = profile.samples.select { |row| row.state == :gc && shown(row).size > 1 }
      reasons = [rows, rows.select { |row| shown(row).include?("GC.start") }].map { |some| some.map { |row| row.labels.values_at("gc", "gc_reason") }.uniq }
      print_json([*reasons, profile.report(by: "gc")])
    RUBY
    expect(reasons).to include(%w[minor newobj]).and all(match([eq("major").or(eq("minor")), String]))
    expect(forced).to include(%w[major force])
    expect(report).to match(/^ +TOTAL +GC /)
  end
end
