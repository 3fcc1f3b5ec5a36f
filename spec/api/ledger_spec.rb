# frozen_string_literal: true

RSpec.describe "Profiler::Ledger" do
  include_context "with a program"
  include_context "with a box"

  it "adds up to the resident memory, without a copy of the process" do
    ledger, said = run_json(<<~'RUBY').values_at(:ledger, :said)
      KEPT = Array.new(5_000) { "k" * 4_000 }
      FIBERS = Array.new(100) { Fiber.new { Fiber.yield }.tap(&:resume) }
      Array.new(5) { Thread.new { Thread.stop } }.each { |it| sleep 0.01 until it.status == "sleep" }
      Profiler.memory # afterwards its own code is resident
      ledger = Profiler.memory
      print_json(ledger: ledger.to_h, said: File.read("/proc/self/status")[/VmRSS:\s*(\d+)/, 1].to_i * 1_024)
    RUBY
    rss = ledger[:rss]
    kinds = ledger[:kinds].to_h { |row| [row[:kind].to_sym, row[:bytes]] }
    expect(rss).to be_within(said * 0.1).of(said)
    expect(kinds.values.sum).to be_within(rss * 0.03).of(rss)
    expect(kinds.fetch(:unnamed, 0)).to be < rss * 0.05
    expect(kinds).to include(main_arena: be > 15_000_000, ruby_pages: be > 500_000, files: be > 3_000_000, fiber_stacks: be > 400_000, thread_stacks: be > 10_000)
    expect(ledger).to include(snapshot: nil, pid: be_positive, malloc: include(in_use: be > 15_000_000), notes: [])
  end

  it "has values, text and JSON" do
    out = run(<<~'RUBY')
      ledger = Profiler.memory(owners: true)
      puts ledger
      again = Profiler::Ledger.parse(ledger.to_json)
      p again.to_h == ledger.to_h, ledger.rss == ledger.to_h[:rss], ledger.kinds.keys.include?(:files), ledger.owners.first[:bytes].positive?, ledger.findings
      p ledger, Profiler.memory.owners
      p error { Profiler::Ledger.parse("{}") }, error { Profiler.memory(owners: 1) }
    RUBY
    expect(out).to match(/^RSS \d[\d.]* MiB, of which (?:9[5-9]|100)\.\d% have a name\.$/)
    expect(out).to match(/^The process stood still for .* \(GC .*, fork .*\); its copy took .*\.$/)
    expect(out).to match(/^ +[\d.]+ MiB +[\d.]+% +libraries|code and files$/)
    expect(out).to match(/^Check: the rows add up to .*, the kernel says .* \([+-]\d\.\d+%\)\.$/)
    expect(out).to match(/^The walk found .* in use and .* free, malloc says .*\.$/)
    expect(out).to include("true\ntrue\ntrue\ntrue\n", "owners>\n[]\n", "ArgumentError: not a ledger of profiler memory --json", "ArgumentError: owners: 1 is not allowed (allowed: true, false)")
  end

  it "says what grew" do
    diff = run_json(<<~'RUBY')
      class Grown; def initialize = @bytes = "g" * 2_000; end
      before = Profiler.memory(owners: true)
      KEPT = Array.new(4_000) { Grown.new }
      diff = Profiler.memory(owners: true).since(before)
      warn diff unless diff.to_s.start_with?("RSS ")
      print_json(diff.to_h)
    RUBY
    expect(diff[:owners].first).to include(name: "String", after: be > 8_000_000)
    expect(diff[:owners].find { |it| it[:name] == "Grown" }).to include(before: 0, count_after: 4_000)
    expect(diff[:rss_after] - diff[:rss_before]).to be > 6_000_000
  end

  it "first names the class that has most of the memory, or the object that retains it" do
    class_of, retained, path = run_json(<<~'RUBY').values_at(:class_of, :retained, :path)
      class Letter; def initialize = @text = "l" * 4_000; end
      module Sent; LETTERS = {}; end
      20_000.times { |number| Sent::LETTERS[number] = Letter.new }
      why = Profiler.memory(why: "*")
      print_json(class_of: Profiler.memory(owners: true).findings.first, retained: why.findings.first, path: why.to_s)
    RUBY
    expect(class_of).to include(kind: "class", bytes: be > 80_000_000, text: /MiB belong to [\d,]+ objects of class String/, remedy: /--why String PID/)
    expect(retained).to include(kind: "retained", bytes: be_within(5_000_000).of(83_000_000), text: /MiB would be free without one object of class Hash\z/)
    expect(path).to match(/> ::LETTERS  Hash$/)
  end

  it "is refused as a file whose numbers are too large, or that is not text" do
    expect(run_json(<<~'RUBY')).to match([/\Anot a ledger of profiler memory --json: its numbers are too large\z/] * 2 + [/: it is not text in UTF-8\z/, /\Anot a ledger .{1,300}\z/])
      ledger = JSON.parse(Profiler.memory.to_json)
      rows = ledger.fetch("kinds").map { |row| row.merge("bytes" => 2**63) }
      texts = [JSON.generate(ledger.merge("kinds" => rows)), JSON.generate(ledger.merge("rss" => (2**64) - 1)), "\xff", JSON.generate("x" * 100_000)]
      print_json(texts.map { |text| error { Profiler::Ledger.parse(text).to_s }.delete_prefix("ArgumentError: ") })
    RUBY
  end

  it "refuses owners beside other Ractors, which go on" do
    out = run(<<~'RUBY', err: match(/Ractor is experimental|\A\z/))
      ractor = Ractor.new { Ractor.receive }
      p error { Profiler.memory(owners: true) }, Profiler.memory.rss.positive?
      ractor.send(7)
      p ractor.respond_to?(:value) ? ractor.value : ractor.take
    RUBY
    expect(out).to eq("\"Profiler::Unsupported: no owners can be found while other Ractors run: they could be changing objects\"\ntrue\n7\n")
  end

  it "says whose malloc it is, if it is not glibc's" do
    source = in_box("other_malloc.c")
    File.write(source, <<~'C')
      #include <stddef.h>
      extern void *__libc_malloc(size_t);
      void *malloc(size_t bytes) { return __libc_malloc(bytes); }
    C
    library = in_box("other_malloc.so")
    expect(system("cc", "-shared", "-fPIC", "-o", library, source)).to be(true)
    out = run("p error { Profiler.memory(owners: true) }, Profiler.memory.notes", env: { "LD_PRELOAD" => library })
    expect(out.scan(%r{malloc comes from \S*/other_malloc\.so, and only the chunks of glibc's malloc can be walked}).size).to eq(2)
  end

  it "fails in words if there is no memory for the copy, and the program goes on" do
    out = run(<<~'RUBY')
      Profiler.memory(owners: true)
      size = File.read("/proc/self/statm").to_i * 4_096
      Process.setrlimit(:AS, size + 20_000_000)
      puts error { Profiler.memory(owners: true) }
      Process.setrlimit(:AS, Process::RLIM_INFINITY) rescue nil
      puts "on"
    RUBY
    expect(out).to match(/\A(?:none|Profiler::Error: no owners were found: .*)\non\n\z/)
  end

  it "survives exceptions that arrive while the copy works" do
    expect(run(<<~'RUBY')).to eq("[:raised, nil]\ntrue\n")
      require "timeout"
      KEPT = Array.new(200_000) { |n| "k" * (40 + n % 200) }
      result = begin
        Timeout.timeout(0.02) { Profiler.memory(owners: true) }
        :done
      rescue Timeout::Error
        :raised
      end
      sleep 0.2
      p [result, (Process.wait rescue nil)]
      p Profiler.memory(owners: true).owners.any?
    RUBY
  end

  it "works in a process that is not dumpable, as far as the system lets it" do
    out = run(<<~'RUBY')
      require "fiddle"
      prctl = Fiddle::Function.new(Fiddle::Handle::DEFAULT["prctl"], [Fiddle::TYPE_INT, *[Fiddle::TYPE_LONG] * 4], Fiddle::TYPE_INT)
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      prctl.call(4, 0, 0, 0, 0)
      ledger = Profiler.memory
      p ledger.rss.positive?, ledger.notes.size, error { Profiler.memory(owners: true) }[/\A\w+::\w+/]
    RUBY
    expect(out).to eq("true\n1\n\"Profiler::Unsupported\"\n").or eq("true\n0\nnil\n")
  end

  it "has what jemalloc says, and looks for none of glibc's chunks" do
    library = Dir["/usr/lib/*/libjemalloc.so.2"].first
    skip "libjemalloc2 is not installed" unless library

    ledger, text, refusal = run_json(<<~'RUBY', env: { "LD_PRELOAD" => library })
      kept = Array.new(5_000) { "k" * 4_000 }
      ledger = Profiler.memory
      print_json([ledger.to_h, ledger.to_s, error { Profiler.memory(owners: true) }])
    RUBY
    kinds = ledger[:kinds].to_h { |row| [row[:kind].to_sym, row[:bytes]] }
    expect(kinds).to include(jemalloc_blocks: be > 15_000_000)
    expect(kinds.keys).not_to include(:main_arena, :thread_arenas, :blocks)
    expect(kinds.values.sum).to be_within(ledger[:rss] * 0.03).of(ledger[:rss])
    expect(ledger).to include(malloc: nil, jemalloc: include(allocated: be > 15_000_000, arenas: be_positive))
    expect(text).to include("malloc is jemalloc").and match(/^jemalloc says that it has [\d.]+ MiB in use in [\d.]+ MiB of pages/)
    expect(refusal).to match(/Unsupported: no owners can be found: malloc comes from \S*jemalloc/)
  end

  it "is refused with owners if the process would stand still for too long" do
    expect(run_json(<<~'RUBY')).to match([/Unsupported: the process would stand still for some .* more than the allowed 1 us \(max_pause\)/, /max_pause: 0 is not a number of seconds above 0/, true])
      print_json([error { Profiler.memory(owners: true, max_pause: 0.000_001) }, error { Profiler.memory(max_pause: 0) },
                  Profiler.memory(owners: true, max_pause: 3_600).owners.any?])
    RUBY
  end
end
