# frozen_string_literal: true

require_relative "../support/tools"

RSpec.describe "Tests of a suite" do
  include_context "with a box"
  include_context "with a program"
  include Tools

  let(:work) { "require #{File.join(__dir__, "rails/apps/work.rb").inspect}" }

  # Example label, and of each file how often 30 ms of Work.burn, half of which may be off: a tick comes every 4 ms, if not late.
  def profiles
    run_json(<<~RUBY, chdir: box)
      profiles = Dir["tmp/profiler/*"].map do |file|
        profile = Profiler::Profile.load(file)
        rows = samples_in(profile, "Work.burn")
        [rows.map { |it| it.labels["example"] }.uniq, profile.meta[:modes], (rows.sum(&:cpu) / 30_000_000.0).round]
      end
      print_json(profiles.sort_by(&:to_s))
    RUBY
  end

  let(:spec) { <<~RUBY }
    require "profiler/rspec"
    #{work}
    RSpec.describe "A shop" do
      it("sells", :profile) { Work.burn(30) }
      it("counts", profile: { mode: %i[cpu allocations] }) { Work.burn(30) }
      it("is not profiled") { Work.burn(30) }
      it("fails", :profile) { Work.burn(30); raise "on purpose" }
    end
  RUBY

  it "in RSpec are profiled if they are tagged, and the slowest are listed", :timed do
    need "rspec"
    result = command_child("rspec", "-I", Child::LIB, script(spec, name: "shop_spec.rb"), chdir: box)
    expect(result.out).to include("4 examples, 1 failure").and match(/\[profiler\] 3 profiled, the slowest:\n +\d+\.\d+ s  A shop \w+  .*\.pb\.gz/)
    expect(profiles).to eq([[["A shop counts"], %w[cpu allocations], 1], [["A shop fails"], ["cpu"], 1], [["A shop sells"], ["cpu"], 1]])
  end

  it "in RSpec are all profiled with PROFILER_EXAMPLES=1" do
    need "rspec"
    result = command_child("rspec", "-I", Child::LIB, script(spec, name: "shop_spec.rb"), chdir: box, env: { "PROFILER_EXAMPLES" => "1" })
    expect(profiles.size).to eq(4)
    expect(result.out).to match(/^\[profiler\] 4 profiled, the slowest:$/).and include("profiler view FILE shows one as a page")
    timelines = run_json('print_json(Dir["tmp/profiler/*"].map { |it| Profiler::Profile.load(it).timeline.any? })', chdir: box)
    expect(timelines).to eq([true] * 4)
  end

  it "in minitest are profiled if the class includes Profiled", :timed do
    need_library "minitest"
    result = ruby_child(script(<<~RUBY), chdir: box)
      require "minitest/autorun"
      require "profiler/minitest"
      #{work}
      class ShopTest < Minitest::Test
        include Profiler::Minitest::Profiled
        def test_sells = assert(Work.burn(30).nil?)
        def test_fails = (Work.burn(30); flunk)
      end
      class OtherTest < Minitest::Test
        def test_nothing = assert(true)
      end
    RUBY
    expect(result.out).to include("3 runs, 3 assertions, 1 failures").and include("[profiler] 2 profiled")
    expect(profiles).to eq([[["ShopTest#test_fails"], ["cpu"], 1], [["ShopTest#test_sells"], ["cpu"], 1]])
  end
end
