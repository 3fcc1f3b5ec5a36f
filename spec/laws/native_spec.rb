# frozen_string_literal: true

require_relative "../support/c_extension"

# Programs whose calls of malloc are known. Each prints what a profile in mode :native says about them.
RSpec.describe "mode: :native" do
  include_context "with a program"

  let(:leaky) { CExtension.options("memory/leaky") }
  let(:cxx) { CExtension.options("native/cxx") }
  let(:prelude) { <<~'RUBY' }
    require "leaky"
    EVERY = 65_536
    # The sums of a profile by method (the innermost frame of this file) and library.
    def sums(profile)
      rows = profile.samples.group_by { |row| [row.frames.map(&:name).find { |it| it.start_with?("Object#") }, row.labels["library"]] }
      rows.map { |(name, library), all| { name: name, library: library, live: all.sum(&:inuse_bytes), bytes: all.sum(&:alloc_bytes),
                                          blocks: all.sum(&:alloc_objects), live_blocks: all.sum(&:inuse_objects) } }
    end
  RUBY

  def sums_of(code, options: leaky, **more)
    run_json("#{code}\nprint_json(sums(profile))", ruby_options: options, **more)
  end

  def at(sums, name) = sums.select { |it| it[:name] == name }

  # Expects a sum of bytes in blocks of one size, of which one is sampled every 64 KiB, within four standard deviations. Each block is
  # sampled with the probability p = 1 - exp(-block / 64 KiB) and weighs block / p. Of 600 such sums, 4.5 % were beyond two standard
  # deviations and one beyond three, as chance has it. A run of this file has a dozen, so with three, one run of 30 would fail.
  def expect_near(found, bytes, block)
    deviation = Math.sqrt(bytes * block / (Math.exp(block / 65_536.0) - 1))
    expect(found).to be_within(4 * deviation).of(bytes)
  end

  it "finds what C code holds, by Ruby stack and library" do
    found = sums_of(<<~'RUBY')
      def native_bug = Leaky.lose(30_000, 700)
      def large_bug = Leaky.lose(200, 100_000)
      def no_bug = Leaky.churn(20_000, 700)
      profile = Profiler.run(mode: :native) { native_bug; large_bug; no_bug }
    RUBY
    [["Object#native_bug", 21_000_000, 700], ["Object#large_bug", 20_000_000, 100_000]].each do |name, bytes, block|
      own = at(found, name).select { |it| it[:library] == "leaky.so" }
      expect(own.size).to eq(1)
      expect_near(own[0][:live], bytes, block)
      expect(own[0][:bytes]).to eq(own[0][:live])
      expect(own[0][:blocks]).to be_within(bytes / block * 0.5).of(bytes / block)
    end
    churned = at(found, "Object#no_bug").find { |it| it[:library] == "leaky.so" }
    expect_near(churned[:bytes], 42_000_000, 1_050)
    expect(churned[:live]).to be <= 131_072
  end

  it "keeps a block that could not be resized" do
    found = sums_of(<<~'RUBY')
      def bug = Leaky.lose_after_resize(300, 70_000)
      profile = Profiler.run(mode: :native) { bug }
    RUBY
    expect_near(at(found, "Object#bug").sum { |it| it[:live] }, 21_000_000, 70_000)
  end

  it "finds what C++ and strdup hold" do
    skip "there is no C++ compiler" unless system("c++", "--version", out: File::NULL, err: File::NULL)
    found = sums_of(<<~'RUBY', options: leaky + cxx)
      require "cxx"
      def cxx_bug = Cxx.lose(300, 50_000)
      def copy_bug = Leaky.lose_copies(20_000, 500)
      def cxx_work = Cxx.churn(50_000)
      profile = Profiler.run(mode: :native) { cxx_bug; copy_bug; cxx_work }
    RUBY
    [["Object#cxx_bug", "cxx.so", 15_000_000, 50_000], ["Object#copy_bug", "leaky.so", 10_020_000, 501]].each do |name, library, bytes, block|
      expect_near(at(found, name).select { |it| it[:library] == library }.sum { |it| it[:live] }, bytes, block)
    end
    expect(at(found, "Object#cxx_work").sum { |it| it[:live] }).to be <= 131_072
  end

  it "finds nothing that is held in a program that frees everything" do
    held, allocated = run_json(<<~'RUBY', ruby_options: leaky)
      require "zlib"
      work = -> { Leaky.churn(1_000, 3_000); Zlib::Inflate.inflate(Zlib::Deflate.deflate("text" * 50_000)); Array.new(1_000) { "x" * 2_000 }; nil }
      work.call
      # On a thread whose stack is gone at the end, as old words on it would keep objects alive.
      profile = Profiler.run(mode: :native) { Thread.new { 20.times { work.call } }.join }
      print_json([profile.samples.sum(&:inuse_bytes), profile.samples.sum(&:alloc_bytes)])
    RUBY
    expect(allocated).to be > 100_000_000
    expect(held).to be < 1_500_000
  end

  it "sees threads without the GVL, and those that are not Ruby's" do
    found, others = run_json(<<~'RUBY', ruby_options: leaky)
      def released = Leaky.lose_without_gvl(5_000, 2_000)
      def elsewhere = Leaky.lose_elsewhere(5_000, 2_000)
      profile = Profiler.run(mode: :native) { Thread.new { released }.join; elsewhere }
      others = profile.samples.select { |row| row.frames.map(&:name) == ["(no Ruby code)"] && row.labels["library"] == "leaky.so" }
      print_json([sums(profile), { live: others.sum(&:inuse_bytes), threads: others.map(&:thread_name).uniq }])
    RUBY
    expect_near(at(found, "Object#released").sum { |it| it[:live] }, 10_000_000, 2_000)
    expect_near(others[:live], 10_000_000, 2_000)
    expect(others[:threads]).to eq(["(other threads)"])
  end

  it "weighs samples without bias" do
    means = run_json(<<~'RUBY', ruby_options: leaky, timeout: 120)
      def bug = Leaky.churn(2_000, 3_000)
      sums = Array.new(25) do
        own = Profiler.run(mode: :native) { bug }.samples.select { |row| row.labels["library"] == "leaky.so" }
        [own.sum(&:alloc_bytes), own.sum(&:alloc_objects)]
      end
      print_json(sums.transpose.map { |all| all.sum / all.size })
    RUBY
    # Each run allocates 2,000 blocks of 3,000 bytes and 2,000 of 6,000: 18 MB, with a standard deviation of 1.1 MB.
    expect(means[0]).to be_within(1_000_000).of(18_000_000)
    expect(means[1]).to be_within(500).of(4_000)
  end

  it "leaves every library as it was" do
    direct = run_json(<<~'RUBY', ruby_options: leaky)
      direct = [Leaky.untouched]
      2.times { direct += [Profiler.run(mode: :native) { direct << Leaky.untouched } && Leaky.untouched] }
      session = Profiler.start(mode: :native)
      other = Profiler::Session.start(mode: :native, every_bytes: 10_000)
      session.stop
      direct << Leaky.untouched
      other.discard
      print_json(direct << Leaky.untouched)
    RUBY
    expect(direct).to eq([4, 0, 4, 0, 4, 0, 4])
  end

  it "sees libraries that are loaded during the session" do
    found, note = run_json(<<~'RUBY', ruby_options: CExtension.options("memory/leaky"))
      def sums_of_leaky(profile) = profile.samples.select { |row| row.labels["library"] == "late.so" }.sum(&:inuse_bytes)
      require "fileutils"
      require "tmpdir"
      require "rbconfig"
      found = Dir.mktmpdir do |directory|
        File.write("#{directory}/late.c", <<~C)
          #include <stdlib.h>
          #include <string.h>
          void lose(long count) { while (count-- > 0) *(volatile char *)malloc(10000) = 1; }
        C
        system("cc", "-shared", "-fPIC", "-O1", "-o", "#{directory}/late.so", "#{directory}/late.c") or raise "not compiled"
        require "fiddle"
        Profiler.run(mode: :native) do
          handle = Fiddle.dlopen("#{directory}/late.so")
          Fiddle::Function.new(handle["lose"], [Fiddle::TYPE_LONG], Fiddle::TYPE_VOID).call(1_000)
          handle.close
        end
      end
      print_json([sums_of_leaky(found), found.meta[:notes].grep(/malloc/)])
    RUBY
    expect_near(found, 10_000_000, 10_000)
    expect(note).to match([/\Acalls of malloc were seen from (\d+) of \1 libraries\z/])
  end

  it "goes on in a forked child, with what the child allocates" do
    parent, child = run_json(<<~'RUBY', ruby_options: leaky)
      def bug(count) = Leaky.lose(count, 1_000)
      def held(profile) = samples_in(profile, "Object#bug").sum(&:inuse_bytes)
      session = Profiler.start(mode: :native)
      bug(20_000)
      child = in_fork { bug(10_000); [held(session.stop), Leaky.untouched] }
      print_json([held(session.stop), child])
    RUBY
    expect_near(parent, 20_000_000, 1_000)
    expect(child).to match([be_within(3_300_000).of(10_000_000), 4])
  end

  it "shows live memory of each snapshot, and pauses" do
    held = run_json(<<~'RUBY', ruby_options: leaky)
      def bug = Leaky.lose(10_000, 1_000)
      # With samples for whose records there was no space.
      def held(profile) = samples_in(profile, /Object#bug|\(unsampled\)/).sum(&:inuse_bytes)
      session = Profiler.start(mode: :native, every_bytes: 1_024)
      held = 2.times.map { bug; held(session.snapshot) }
      session.pause
      bug
      session.resume
      print_json(held << held(session.stop))
    RUBY
    expect(held).to match([be_within(500_000).of(10_000_000), be_within(700_000).of(20_000_000), be_within(700_000).of(20_000_000)])
  end

  it "says in a sentence what is still held, and where" do
    finding = run_json(<<~'RUBY', ruby_options: leaky)
      def native_bug
        Leaky.lose(20_000, 1_000)
      end
      profile = Profiler.run(mode: :native) { native_bug }
      print_json(profile.findings.first)
    RUBY
    expect(finding).to include(kind: "live", type: "inuse_space", text: /\A[\d.]+ MiB of C memory still held, allocated in Object#native_bug by leaky\.so\z/)
  end

  it "has Go's four types, alone or after times" do
    types = run_json(<<~'RUBY', ruby_options: leaky)
      alone = Profiler.run(mode: :native) { Leaky.churn(10, 10) }
      timed = Profiler.run(mode: %i[cpu native]) { Leaky.churn(10, 10) }
      print_json([alone, timed].map { |it| it.totals.keys })
    RUBY
    memory = %w[alloc_objects alloc_space inuse_objects inuse_space]
    expect(types).to eq([memory, %w[samples cpu] + memory])
  end

  it "refuses what it cannot measure" do
    errors = run_json(<<~'RUBY', ruby_options: leaky)
      print_json([{ mode: %i[heap native] }, { mode: :native, every: 10 }, { mode: :native, max_overhead: 0.01 }]
        .map { |options| error { Profiler.run(**options) { 1 } } })
    RUBY
    expect(errors).to match([/\AProfiler::Unsupported: .*:native needs a profile of its own/, /\AArgumentError: every: 10 applies to objects/,
                             /\AArgumentError: max_overhead: 0.01 cannot be kept where memory is sampled/])
  end
end
