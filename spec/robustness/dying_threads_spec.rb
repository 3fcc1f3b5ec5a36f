# frozen_string_literal: true

# Ruby reports the exception that ends a thread after its thread-exit hook has run, and lists the thread all that time. A session
# that begins meanwhile finds a thread for which no second hook will run.
RSpec.describe "Threads that die of an exception while sessions begin" do
  include_context "with a program"

  [%w[wall], %w[cpu], %w[wall allocations]].each do |modes|
    it "leave a process alive that profiles #{modes.join(" and ")}" do
      expect(program_json("dying_threads/sessions", *modes)).to be_positive
    end
  end

  it "count as waiting until they are over, and no longer", if: RUBY_VERSION >= "3.3" do
    lived, most, later = program_json("dying_threads/slow_reports")
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
    threads, late = program_json("dying_threads/late_ticks", env: { "MALLOC_MMAP_THRESHOLD_" => "4096" })
    expect(threads).to be > 100
    expect(late).to be_positive, "no tick was late" if RUBY_VERSION < "3.3"
  end
end
