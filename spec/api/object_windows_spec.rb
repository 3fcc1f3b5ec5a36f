# frozen_string_literal: true

# Objects are sampled in some periods only, as the VM's hook costs for each object.
RSpec.describe "Profiler.continuous with objects" do
  include_context "with a program"

  it "samples them in whole periods, within the allowed overhead, and reports how much it saw" do
    result = run_json(<<~RUBY, timeout: 120)
      Small, Large = Class.new, Class.new
      profiles = []
      sampled = 0
      it = Profiler.continuous(mode: %i[cpu wall allocations], period: 0.1, every: 64, max_overhead: 0.04) do |profile|
        sampled += 1 if profile.stats[:objects].positive?
        profiles << profile
      end
      till = now + 60_000_000_000
      # A busy machine has fewer periods.
      2_000.times { 3.times { Small.new }; Large.new } until now > till || sampled > 4 && profiles.size > 3 * sampled
      it.stop
      objects = profiles.map { |profile| %w[Small Large].map { |name| objects_of(profile, name) } }
      whole = Profiler::Profile.merge(*profiles)
      print_json(objects: objects, notes: profiles.map { |it| it.meta[:notes].grep(/objects were sampled/) },
                 whole: whole.meta[:notes].grep(/objects were sampled/), cpu: profiles.all? { |it| it.samples.sum(&:cpu).positive? })
    RUBY
    with, without = result[:objects].partition { |counts| counts.sum.positive? }
    expect(with.size).to be_between(4, without.size)
    small, large = with.transpose.map(&:sum)
    expect(small.to_f / (small + large)).to be_within(0.02).of(0.75)
    expect(result[:notes]).to all(match([/objects were sampled for .+ of .+, to stay within max_overhead/]))
    expect(result[:whole]).to match([/objects were sampled for .+ of .+ s, to stay within max_overhead/])
    expect(result[:cpu]).to be true
  end

  it "samples them all the time if they are few" do
    sampled, all = run_json(<<~RUBY)
      Rare = Class.new
      profiles = []
      it = Profiler.continuous(mode: %i[cpu allocations], period: 0.1, every: 1, max_overhead: 0.5) { |profile| profiles << profile }
      wait_for { profiles.size >= 2 }
      made = 0
      10.times { 5.times { Rare.new; made += 1 }; sleep 0.05 }
      it.stop
      print_json([profiles.sum { |profile| objects_of(profile, "Rare") }, made])
    RUBY
    expect(sampled).to eq(all)
  end

  it "draws other periods in each worker" do
    drawn = run_json(<<~'RUBY')
      windows = Profiler.const_get(:Periods)::ObjectWindows.new(0.01)
      readings = [0.0, 0.0, 0]
      windows.define_singleton_method(:readings) { readings }
      draw = lambda do
        windows.start_over # as a continuous session does in a child
        Array.new(400) { readings = [readings[0] + 60, readings[1] + 60, readings[2] + 300_000_000]; windows.next?(false) }
      end
      print_json(Array.new(2) { in_fork(&draw) })
    RUBY
    expect(drawn.uniq.size).to eq 2
    expect(drawn.flatten.uniq.size).to eq 2
  end

  it "keeps the share in the long run, whatever the program does" do
    shares, always, seed = program_json("allocations/windows")
    # The last window may be a debt.
    expect(shares.map(&:first)).to all(be_between(0.0005, 0.0053)), "seed #{seed}: #{shares}"
    expect(always[1]).to be >= 99
  end

  it "refuses what no share can be kept for" do
    expect(run_json(<<~RUBY)).to match([/ArgumentError: max_overhead: 0.01 cannot be kept where live objects are tracked/])
      print_json([error { Profiler.continuous(mode: %i[cpu heap], max_overhead: 0.01) { nil } }])
    RUBY
  end
end
