# frozen_string_literal: true

require_relative "../support/c_extension"

# Programs that know who holds the memory of their calls of malloc. Each prints what a profile of memory with owners says.
RSpec.describe "mode: :native with owners" do
  include_context "with a program"

  let(:leaky) { CExtension.options("memory/leaky") }
  let(:prelude) { <<~'RUBY' }
    require "leaky"
    # The live bytes by method (the innermost frame of this file), library and owner.
    def held(profile)
      rows = profile.samples.select { |row| row.inuse_bytes.positive? }
      sums = rows.group_by { |row| [row.frames.map(&:name).find { |it| it.start_with?("Object#") }, *row.labels.values_at("library", "owner")] }
      sums.map { |(name, library, owner), all| { name: name, library: library, owner: owner, bytes: all.sum(&:inuse_bytes) } }
    end
  RUBY

  # Expects a sum of bytes that were sampled every 64 KiB, within four standard deviations.
  def expect_near(found, bytes, block)
    expect(found).to be_within(4 * Math.sqrt(bytes * (65_536.0 + block))).of(bytes)
  end

  def at(sums, name) = sums.select { |it| it[:name] == name }.sort_by { |it| -it[:bytes] }

  it "joins the line and the library that allocated memory with what refers to it" do
    found, first, notes = run_json(<<~'RUBY', ruby_options: leaky)
      class Page; def initialize = @bytes = "p" * 20_000; end
      def bug = Leaky.lose(30_000, 700)
      def list_bug = Leaky.lose_lists(1_000, 1_000)
      def kept_in_c = Leaky.keep(10_000, 1_000)
      def strings = Array.new(2_000) { "s" * 5_000 }
      def pages = Array.new(500) { Page.new }
      profile = Profiler.run(mode: :native, owners: true) do
        Thread.new { bug; list_bug; kept_in_c; KEPT = [strings, pages] }.join # on a thread whose stack is gone at the end
      end
      print_json([held(profile), profile.findings.first, profile.meta[:notes]])
    RUBY
    { "Object#bug" => ["leaky.so", "(unreferenced)", 21_000_000, 700], "Object#list_bug" => ["leaky.so", "(unreferenced)", 10_000_000, 1_000],
      "Object#kept_in_c" => ["leaky.so", "data of leaky.so", 10_000_000, 1_000],
      "Object#strings" => [/\Alibruby|\Aruby/, "String", 10_000_000, 5_000], "Object#pages" => [/\Alibruby|\Aruby/, "String", 10_000_000, 20_000] }
      .each do |name, (library, owner, bytes, block)|
      heaviest, *others = at(found, name)
      expect(heaviest).to match(name: name, library: library, owner: owner, bytes: be_positive)
      expect_near(heaviest[:bytes], bytes, block)
      expect(others.sum { |it| it[:bytes] }).to be < bytes * 0.05
    end
    expect(first).to include(kind: "live", text: match(/\Aleaked: nothing refers to \d\d\.\d MiB, allocated in Object#bug by leaky\.so\z/))
    expect(notes).to match([/\Acalls of malloc/])
  end

  it "leaves out what was freed by code that is not seen" do
    plain, owned = run_json(<<~'RUBY', ruby_options: leaky)
      require "fiddle"
      def function(name, result) = Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], [Fiddle::TYPE_VOIDP], result)
      DUPLICATE, FREE = function("strdup", Fiddle::TYPE_VOIDP), function("free", Fiddle::TYPE_VOID) # before the session: never replaced
      TEXT = "t" * 2_000
      def work = Array.new(5_000) { DUPLICATE.call(TEXT).to_i }.each { |address| FREE.call(address) }
      profiles = [{}, { owners: true }].map { |options| Profiler.run(mode: :native, **options) { work } }
      print_json(profiles.map { |profile| held(profile).select { |it| it[:name] == "Object#work" && it[:library].start_with?("libffi") }.sum { |it| it[:bytes] } })
    RUBY
    expect_near(plain, 10_005_000, 2_001)
    expect(owned).to be < 500_000
  end

  it "has owners in each part of a session" do
    sums = run_json(<<~'RUBY', ruby_options: leaky)
      def bug = Leaky.lose(10_000, 1_000)
      session = Profiler.start(mode: :native, owners: true)
      parts = 2.times.map { bug; session.rotate }
      bug
      parts += [session.snapshot, session.stop]
      print_json(parts.map { |part| held(part).select { |it| it[:name] == "Object#bug" && it[:owner] == "(unreferenced)" }.sum { |it| it[:bytes] } })
    RUBY
    # Each part has what was live at its end: all blocks that were lost before.
    [10_000_000, 20_000_000, 30_000_000, 30_000_000].zip(sums) { |bytes, found| expect_near(found, bytes, 1_000) }
  end

  it "is refused without memory, and says in a note why no owners were found" do
    fault, notes, owners = run_json(<<~'RUBY', ruby_options: leaky)
      Warning[:experimental] = false
      fault = error { Profiler.run(owners: true) { } }
      ractor = Ractor.new { Ractor.receive }
      profile = Profiler.run(mode: :native, owners: true) { Leaky.lose(1_000, 1_000) }
      ractor.send(nil)
      print_json([fault, profile.meta[:notes], held(profile).filter_map { |it| it[:owner] }])
    RUBY
    expect(fault).to eq("ArgumentError: owners: applies to memory from malloc, which needs mode: :native")
    expect(notes).to include("nothing is known about owners: no owners can be found while other Ractors run: they could be changing objects")
    expect(owners).to eq([])
  end

  it "survives exceptions that arrive while the process is copied" do
    counts = run_json(<<~'RUBY', ruby_options: leaky, timeout: 120)
      session = Profiler.start(mode: :native, owners: true)
      arrived = 0
      60.times do |number|
        thread = Thread.new { loop { session.snapshot } }
        thread.report_on_exception = false
        sleep 0.002 * (number % 30)
        number.even? ? thread.raise("stop") : thread.kill
        thread.join rescue arrived += 1
      end
      Leaky.lose(10_000, 1_000)
      profile = session.stop
      print_json([arrived, held(profile).select { |it| it[:owner] == "(unreferenced)" }.sum { |it| it[:bytes] }])
    RUBY
    expect(counts[0]).to eq(30)
    expect_near(counts[1], 10_000_000, 1_000)
  end
end
