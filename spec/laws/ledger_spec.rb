# frozen_string_literal: true

require_relative "../support/c_extension"

# Programs whose memory is known. Each prints ledgers, with the bytes that it knows to be there.
RSpec.describe "The ledger of a process's memory" do
  include_context "with a program"

  let(:leaky) { CExtension.options("memory/leaky") }
  let(:prelude) { <<~'RUBY' }
    require "leaky"
    # The memory that malloc takes for a block.
    def chunk(bytes) = ((bytes + 8 + 15) & ~15)
    def ledger = Profiler.memory(owners: true).to_h
    # No local variable of the caller keeps what the block makes.
    def apart = Thread.new { yield; nil }.join
  RUBY

  def ledger_of(code, **options)
    run_json("#{code}\nprint_json(ledger: ledger, truth: $truth)", ruby_options: leaky, **options)
  end

  def bytes(ledger, kind) = ledger[:kinds].select { |row| row[:kind] == kind }.sum { |row| row[:bytes] }

  def owner(ledger, name) = ledger[:snapshot][:owners].find { |row| row[:name] == name } || { bytes: 0, chunk_bytes: 0, objects: 0 }

  # The laws of every ledger with owners.
  def expect_sound(ledger)
    rss = ledger[:rss]
    expect(ledger[:kinds].sum { |row| row[:bytes] }).to be_within(rss * 0.02).of(rss)
    expect(bytes(ledger, "unnamed")).to be < rss * 0.05
    expect(ledger[:snapshot][:broken_chains]).to eq(0)
    walked, said = ledger[:snapshot][:walked], ledger[:malloc]
    expect(walked[:in_use]).to be_within(said[:in_use] * 0.01 + 16_384).of(said[:in_use])
    expect(walked[:free]).to be_within(said[:free] * 0.01 + 16_384).of(said[:free])
    expect(walked[:mapped]).to be_within(said[:mapped] * 0.01 + 65_536).of(said[:mapped])
  end

  it "gives the memory of objects to their classes" do
    found = ledger_of(<<~'RUBY')
      class Cache
        STRINGS = {}
        20_000.times { |number| STRINGS[number] = "x" * 5_000 }
      end
      class Wrapped; end
      WRAPPED = Array.new(2_000) { Leaky.object(Wrapped, 3_000) }
      $truth = { strings: 20_000 * chunk(5_001), wrapped: 2_000 * chunk(3_000) }
    RUBY
    ledger, truth = found.values_at(:ledger, :truth)
    expect_sound(ledger)
    expect(owner(ledger, "String")[:chunk_bytes]).to be_within(truth[:strings] * 0.02).of(truth[:strings])
    expect(owner(ledger, "Wrapped")).to include(objects: 2_000, chunk_bytes: be_within(truth[:wrapped] * 0.02).of(truth[:wrapped]))
    expect(bytes(ledger, "unreferenced")).to be < 1_000_000
    expect(ledger[:findings].map { |it| it[:kind] }).not_to include("leak")
  end

  it "finds what C code lost, to 1 %, and no more" do
    found = ledger_of(<<~'RUBY')
      apart { Leaky.lose(10_000, 4_990) }
      apart { Leaky.lose_lists(500, 1_000) }
      apart { Leaky.keep(1_000, 9_000) }
      $truth = { lost: 10_000 * chunk(4_990) + 5_000 * chunk(1_000), kept: 1_000 * chunk(9_000) }
    RUBY
    ledger, truth = found.values_at(:ledger, :truth)
    expect_sound(ledger)
    expect(bytes(ledger, "unreferenced")).to be_within(truth[:lost] * 0.01).of(truth[:lost])
    expect(owner(ledger, "data of leaky.so")[:chunk_bytes]).to be_within(truth[:kept] * 0.01).of(truth[:kept])
    expect(ledger[:snapshot][:sizes].first).to include(size: 5_008, count: be_within(20).of(10_000))
    expect(ledger[:findings].first).to include(kind: "leak", text: match(/of malloc in 15,0\d\d blocks that nothing refers to \((?:10,0\d\d|9,9\d\d) of 4\.89 KiB/))
  end

  it "names the library whose code lost objects refer to" do
    found = ledger_of("apart { Leaky.lose_objects(5_000, 2_000) }\n$truth = 5_000 * chunk(2_000)")
    leak = found[:ledger][:findings].find { |it| it[:kind] == "leak" }
    expect(leak).to include(bytes: be_within(found[:truth] * 0.01).of(found[:truth]), remedy: include("probably leaky.so"))
  end

  it "finds free pages in the arenas of threads, which the remedy returns" do
    found = run_json(<<~'RUBY', ruby_options: leaky)
      require "fiddle"
      threads = Array.new(16) do
        Thread.new do
          5.times { kept = Array.new(300) { |n| "y" * (2_000 + (n * 100)) }; Thread.pass; kept = nil }
          Thread.stop
        end
      end
      sleep 0.01 until threads.all? { |it| it.status == "sleep" }
      before = ledger
      Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT).call(0)
      print_json([before, ledger])
    RUBY
    found.each { |ledger| expect_sound(ledger) }
    before, after = found
    expect(before[:snapshot][:arenas].size).to be > 1
    expect(before[:findings].first).to include(kind: "free_pages", bytes: before[:snapshot][:trimmable], remedy: match(/malloc_trim\(0\).*MALLOC_ARENA_MAX=2/))
    expect(before[:snapshot][:trimmable]).to be > 10_000_000
    expect(after[:snapshot][:trimmable]).to be < before[:snapshot][:trimmable] * 0.1
    # Without code, of which the second ledger runs more that is resident from then on.
    before_bytes, after_bytes = found.map { |ledger| ledger[:rss] - bytes(ledger, "files") }
    expect(before_bytes - after_bytes).to be_within(before[:snapshot][:trimmable] * 0.1).of(before[:snapshot][:trimmable])
  end

  it "finds free ends of arenas, of which the remedies leave less" do
    code = <<~'RUBY'
      big = "x" * 30_000_000 # when it is freed, malloc puts blocks of that size into arenas from then on
      big.clear
      # One after the other, as two arenas would grow as much as six if all threads had their blocks at once.
      6.times do
        thread = Thread.new { kept = Array.new(4) { "y" * 4_000_000 }; kept.each(&:clear); kept = nil; Thread.stop }
        sleep 0.01 until thread.status == "sleep"
      end
    RUBY
    ledger = ledger_of(code)[:ledger]
    expect_sound(ledger)
    tops = ledger[:snapshot][:arenas].reject { |it| it[:main] }.sum { |it| it[:top] }
    expect(tops).to be > 50_000_000
    expect(ledger[:findings].first).to include(kind: "tops", bytes: tops, text: match(/are free at the ends of \d arenas/))
    remedies = ledger[:findings].first[:remedy].scan(/(MALLOC_[A-Z_]+)=(\d+)/)
    expect(remedies.map(&:first)).to eq(%w[MALLOC_ARENA_MAX MALLOC_MMAP_THRESHOLD_])
    remedies.each do |name, value|
      expect(ledger_of(code, env: { name => value })[:ledger][:rss]).to be < ledger[:rss] * 0.8
    end
  end

  it "gives what SQLite has allocated to its databases, whatever looks like a reference to it" do
    skip "there is no sqlite3 gem" unless system(RbConfig.ruby, "-e", 'require "sqlite3"', out: File::NULL, err: File::NULL)
    found = ledger_of(<<~'RUBY')
      require "fiddle"
      require "sqlite3"
      require "tmpdir"
      Dir.mktmpdir do |directory|
        path = File.join(directory, "data.db")
        database = SQLite3::Database.new(path)
        database.execute("create table words (id integer primary key, text)")
        database.transaction { 4_000.times { |number| database.execute("insert into words (text) values (?)", ["word #{number} " * 40]) } }
        database.close
        # Freed blocks of hashes and expressions leave words behind, in blocks that SQLite then gets, and others.
        10.times { (hash = {}; 2_000.times { |number| hash["key #{number}"] = Regexp.new("a{#{number % 50}}") }) }
        OPEN = Array.new(8) { SQLite3::Database.new(path).tap { |it| it.execute("select count(*) from words where text like '%x%'") } }
        OPEN.map { |it| Thread.new { hash = {}; 800.times { |number| hash["a#{number}"] = number }; it.execute("select text from words").size } }.each(&:join)
      end
      GC.start
      library = File.foreach("/proc/self/maps").map { |line| line[%r{/\S*libsqlite3\S*}] }.compact.first
      $truth = Fiddle::Function.new(Fiddle::Handle.new(library)["sqlite3_memory_used"], [], Fiddle::TYPE_LONG_LONG).call
    RUBY
    ledger, truth = found.values_at(:ledger, :truth)
    expect(truth).to be > 5_000_000
    # Each block has a header of malloc.
    expect(owner(ledger, "SQLite3::Database")[:bytes]).to be_between(truth * 0.97, truth * 1.05)
  end

  it "explains address space without memory, of which the remedy leaves less" do
    threads = <<~'RUBY'
      threads = Array.new(40) { Thread.new { "y" * 50_000; Thread.stop } }
      sleep 0.01 until threads.all? { |it| it.status == "sleep" }
    RUBY
    many, few = [32, 2].map { |arenas| ledger_of(threads, env: { "MALLOC_ARENA_MAX" => arenas.to_s })[:ledger] }
    expect(many[:findings].last).to include(kind: "address_space", bytes: many[:address_space] - many[:rss] - many[:swapped],
                                            remedy: include("MALLOC_ARENA_MAX=2"))
    expect(many[:reserved]).to be > 25 * 60_000_000
    expect(few[:reserved]).to be < many[:reserved] / 5
  end

  it "names the stacks of threads and fibers, and code" do
    found = ledger_of(<<~'RUBY')
      deep = ->(left) { left.zero? ? Fiber.yield : deep.call(left - 1) }
      FIBERS = Array.new(300) { Fiber.new { deep.call(20) }.tap(&:resume) }
      def down(left) = left.zero? ? Thread.stop : [left].each { |it| down(it - 1) }
      threads = Array.new(40) { Thread.new { down(100) } }
      sleep 0.01 until threads.all? { |it| it.status == "sleep" }
      2_000.times { |number| eval("def made_#{number}(a) = [a, #{number}].map { |it| it.to_s + a.to_s }") }
    RUBY
    ledger = found[:ledger]
    expect_sound(ledger)
    counts = ledger[:kinds].to_h { |row| [row[:kind], row[:count]] }
    expect(counts["fiber_stacks"]).to be_between(300, 600) # the pool has some in reserve
    expect(counts["thread_stacks"]).to be >= 40
    expect(owner(ledger, "(internal to Ruby) iseq (code)")[:bytes]).to be > 3_000_000
  end

  it "is told neither to the program's waits nor to its traps, and keeps its descriptors" do
    expect(run_json(<<~'RUBY', ruby_options: leaky)).to eq([0, "Errno::ECHILD: No child processes", true])
      children = 0
      trap("CHLD") { children += 1 }
      before = Dir["/proc/self/fd/*"].size
      3.times { ledger }
      waited = error { Process.wait }
      sleep 0.05
      print_json([children, waited, Dir["/proc/self/fd/*"].size == before])
    RUBY
  end

  it "is right while threads allocate without the GVL, and Ruby threads collect and compact" do
    found = run_json(<<~'RUBY', ruby_options: leaky, timeout: 300)
      Leaky.begin_storm(4)
      apart { Leaky.lose(2_000, 4_990) }
      busy = Array.new(2) { Thread.new { loop { Array.new(1_000) { |n| "z" * n }; GC.start } } }
      busy << Thread.new { loop { GC.compact; sleep 0.01 } } if GC.respond_to?(:compact)
      class Named; def initialize = @bytes = "n" * 3_000; end
      NAMED = Array.new(1_000) { Named.new }
      ledgers = Array.new(10) { ledger }
      Leaky.end_storm
      busy.each(&:kill)
      print_json(ledgers.map do |it|
        unreferenced = it[:kinds].sum { |row| row[:kind] == "unreferenced" ? row[:bytes] : 0 }
        [it[:snapshot][:broken_chains], unreferenced, it[:snapshot][:owners].find { |row| row[:name] == "Named" }&.fetch(:objects)]
      end)
    RUBY
    truth = 2_000 * 5_008
    whole = found.select { |broken, *| broken.zero? }
    expect(whole.size).to be >= 7
    expect(whole).to all(match([0, be_between(truth * 0.99, truth + 1_000_000), 1_000]))
  end
end
