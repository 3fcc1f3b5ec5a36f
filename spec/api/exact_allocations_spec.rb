# frozen_string_literal: true

require "tmpdir"

# Every object of a block, and the matchers that count them.
RSpec.describe "Profiler.allocations_of" do
  def run(code, **options)
    result = ruby_child("-e", "require 'profiler'\n#{code}", **options)
    expect(result.status).to be_success, result.err
    result.out
  end

  it "counts every object of the block, and none of the profiler's" do
    out = run(<<~RUBY)
      class Point; def initialize = @it = String.new; end
      3.times do
        made = Profiler.allocations_of(warm_up: 1) { 10.times { Point.new }; :value }
        p [made.objects, made.objects(Point), made.objects("String"), made.bytes, made.value]
      end
      p Profiler.allocations_of { }.objects, Profiler.allocations_of { 5.times { [] } }.sites.map(&:to_s)
    RUBY
    lines = out.lines.map(&:chomp)
    expect(lines.first(3)).to eq(["[20, 10, 10, 800, :value]"] * 3)
    expect(lines[3..]).to match(["0", /\A\["5 x Array \(200 bytes\) at -e:\d+ in block /])
  end

  it "counts the objects of its own thread and its fibers" do
    out = run(<<~RUBY)
      class Mine; end
      class Other; end
      go = Queue.new
      thread = Thread.new { go.pop; 1_000.times { Other.new } }
      sleep 0.01 until thread.stop?
      made = Profiler.allocations_of(warm_up: 1) { go << 1; thread.join; Fiber.new { 7.times { Mine.new } }.resume }
      p made.objects(Mine), made.objects(Other)
    RUBY
    expect(out).to eq("7\n0\n")
  end

  it "raises what the block raises, and leaves no session behind" do
    out = run(<<~RUBY)
      begin
        Profiler.allocations_of { raise IOError, "mine" }
      rescue IOError => e
        p e.message, Profiler.running?
      end
      p catch(:out) { Profiler.allocations_of { throw :out, 3 } }, (Profiler.allocations_of rescue $!.class)
    RUBY
    expect(out).to eq(%("mine"\nfalse\n3\nArgumentError\n))
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
        end
      RUBY
    end

    it "says where the objects were allocated" do
      Dir.mktmpdir do |box|
        File.write("#{box}/a_spec.rb", code)
        result = ruby_child("-S", "rspec", "a_spec.rb", chdir: box)
        expect(result.out).to include("5 examples, 1 failure")
        expect(result.out).to include("expected the block to allocate at most 2 objects, but it allocated 4:")
        expect(result.out).to match(/3 x Object \(120 bytes\) at .*a_spec\.rb:7 in Class#new\n.*1 x Array \(40 bytes\) at .*a_spec\.rb:7/)
      end
    end
  end

  it "has an assertion for minitest" do
    out = run(<<~RUBY)
      begin
        require "minitest"
      rescue LoadError
        module Minitest; module Assertions; def assert(test, message) = test || raise(message.call); end; end
      end
      require "profiler/minitest"
      extend Minitest::Assertions
      class << self; attr_accessor :assertions; end
      self.assertions = 0
      p assert_allocates_at_most(2) { [Object.new] }.objects
      begin
        assert_allocates_at_most(1, of: String) { [String.new, String.new] }
      rescue Exception => e
        puts e.message.lines.first
      end
      assert_allocates_at_most(-1) { } rescue puts $!.message
    RUBY
    expect(out).to eq("2\nexpected the block to allocate at most 1 objects of String, but it allocated 2:\n" \
                      "-1 is not a limit for objects (allowed: an Integer from 0 on)\n")
  end
end
