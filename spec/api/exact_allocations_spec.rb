# frozen_string_literal: true

require "tmpdir"

# Every object of a block, and the matchers that count them.
RSpec.describe "Profiler.allocations_of" do
  include_context "with a program"

  it "counts every object of the block, and none of the profiler's" do
    allocated, empty, sites = run_json(<<~RUBY)
      class Point; def initialize = @it = String.new; end
      allocated = Array.new(3) do
        Profiler.allocations_of(warm_up: 1) { 10.times { Point.new }; :value }.then { |it| [it.objects, it.objects(Point), it.objects("String"), it.bytes, it.value] }
      end
      print_json([allocated, Profiler.allocations_of { }.objects, Profiler.allocations_of { 5.times { [] } }.sites.map(&:to_s)])
    RUBY
    expect(allocated).to eq([[20, 10, 10, 800, "value"]] * 3)
    expect(empty).to eq(0)
    expect(sites).to match([/\A5 x Array \(200 bytes\) at -e:\d+ in block /])
  end

  it "counts the objects of its own thread and its fibers" do
    expect(run_json(<<~RUBY)).to eq(mine: 7, other: 0)
      class Mine; end
      class Other; end
      go = Queue.new
      thread = Thread.new { go.pop; 1_000.times { Other.new } }
      sleep 0.01 until thread.stop?
      allocated = Profiler.allocations_of(warm_up: 1) { go << 1; thread.join; Fiber.new { 7.times { Mine.new } }.resume }
      print_json(mine: allocated.objects(Mine), other: allocated.objects(Other))
    RUBY
  end

  it "counts objects of a class by its name, whatever it responds to to_s" do
    counted = run_json(<<~'RUBY')
      class Money; def self.to_s = "Money (EUR)"; def self.name = "EUR"; end
      anonymous = Class.new
      other = Class.new(Money)
      all = Profiler.allocations_of(warm_up: 1) { 5.times { Money.new; anonymous.new }; 3.times { other.new } }
      require "profiler/rspec"
      zero = ->(of) { Profiler::RSpec::AllocateAtMost.new(0).of(of).matches?(-> { 5.times { of.new } }) }
      bytes = Profiler::RSpec::AllocateAtMost.new(10_000).bytes.of(Money).tap { |it| it.matches?(-> { 3.times { Money.new; [] } }) }
      print_json([all.objects(Money), all.objects(anonymous), all.objects(other), all.objects("Money"), zero[Money], zero[anonymous], bytes.failure_message_when_negated])
    RUBY
    expect(counted).to eq([5, 5, 3, 5, false, false, "expected the block not to allocate at most 10000 bytes of Money, but it allocated 120"])
  end

  it "refuses a name that no class has, but not one that the block loads, or that can be loaded" do
    Dir.mktmpdir do |box|
      File.write("#{box}/loaded_later.rb", "class LoadedLater; class Inner; end; end")
      File.write("#{box}/on_first_use.rb", "raise 'it was loaded'")
      seen = program_json("allocations/class_names", ruby_options: ["-I", box])
      told = 'ArgumentError: no class is named "Pont": did you mean Point? (allowed: a class, or the name of one that exists after the block, or that autoload can load)'
      expect(seen).to include(broken: "RuntimeError: too many", misspelt: told, assertion: told, asked: told, anonymous: 1)
      expect(seen[:kept]).to match(["none"] * 6 + [start_with('ArgumentError: no class is named "Space::Other"')])
      expect(seen[:others]).to all(start_with("ArgumentError: no class is named "))
    end
  end

  # Before Ruby 4.0 the VM calls no hook on objects any more after it has freed a Ractor.
  it "raises if Ruby has stopped reporting objects" do
    result = program_json("allocations/ended_ractors", err: match(/\A(.*warning: Ractor is experimental.*\n)*\z/))
    expect(result[0]).to all(eq("not all objects of the block were counte").or(be >= 500))
    expect(result.drop(1)).to match([false, be >= 500])
  end

  it "raises what the block raises, and leaves no session behind" do
    expect(run_json(<<~RUBY)).to match(raised: "IOError: mine", running: false, thrown: 3, without_block: /\AArgumentError: /)
      raised = error { Profiler.allocations_of { raise IOError, "mine" } }
      print_json(raised: raised, running: Profiler.running?, thrown: catch(:out) { Profiler.allocations_of { throw :out, 3 } },
                 without_block: error { Profiler.allocations_of })
    RUBY
  end

  describe "in RSpec" do
    let(:code) do
      <<~RUBY
        require "profiler/rspec"
        RSpec.describe "blocks" do
          it("keeps") { expect { 3.times { Object.new } }.to allocate_at_most(3).objects }
          it("keeps bytes") { expect { 3.times { Object.new } }.to allocate_at_most(120).bytes.warmed_up }
          it("keeps classes") { expect { 3.times { Object.new } }.to allocate_at_most(0).of(String) }
          it("is negated") { expect { 3.times { Object.new } }.not_to allocate_at_most(2).objects }
          it("breaks") { expect { 3.times { Object.new }; [] }.to allocate_at_most(2).objects }
          it("is combined") { expect { raise "x" }.to allocate_at_most(50).objects.and raise_error("x") }
        end
      RUBY
    end

    it "says where the objects were allocated" do
      Dir.mktmpdir do |box|
        File.write("#{box}/a_spec.rb", code)
        result = ruby_child("-S", "rspec", "a_spec.rb", chdir: box)
        expect(result.out).to include("6 examples, 1 failure")
        expect(result.out).to include("expected the block to allocate at most 2 objects, but it allocated 4:")
        expect(result.out).to match(/3 x Object \(120 bytes\) at .*a_spec\.rb:7 in .*\n.*1 x Array \(40 bytes\) at .*a_spec\.rb:7/)
      end
    end
  end

  it "refuses what it cannot count" do
    expect(run_json(<<~RUBY)).to all(start_with("ArgumentError: "))
      require "profiler/rspec"
      def error = yield && "none" rescue "\#{$!.class}: \#{$!.message}"
      print_json([error { Profiler.allocations_of(warm_up: 1.5) { 1 } }, error { Profiler.allocations_of(warm_up: -1) { 1 } },
                  error { Profiler.leaks(warm_up: -1) { 1 } }, error { Profiler.allocations_of { 1 }.objects(Comparable) },
                  error { Profiler::AllocationLimit.new(0, of: Comparable) }])
    RUBY
  end

  it "has an assertion for minitest" do
    kept, broken, wrong = program_json("allocations/minitest")
    expect(kept).to eq(2)
    expect(broken).to start_with("expected the block to allocate at most 1 objects of String, but it allocated 2:\n")
    expect(wrong).to eq("ArgumentError: -1 is not a limit for objects (allowed: an Integer of 0 or more)")
  end
end
