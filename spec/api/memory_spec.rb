# frozen_string_literal: true

# The memory of profiles, which is outside of Ruby's heap.
RSpec.describe "The memory of a profile" do
  include_context "with a box"
  include_context "with a program"

  before { File.write(in_box("large.folded"), (1..40_000).map { |number| "main;#{"a;" * (number % 50)}f#{number} 1\n" }.join) }

  it "is included in ObjectSpace.memsize_of" do
    one, all = run_json(<<~RUBY, chdir: box)
      require "objspace"
      large = Profiler::Profile.load("large.folded")
      print_json([ObjectSpace.memsize_of(large), ObjectSpace.memsize_of_all(Profiler::Profile)])
    RUBY
    # A row, a function and a place in a stack each take more than 16 bytes; and that of several does not belong to the first alone.
    expect(one).to be > 40_000 * 3 * 16
    expect(all).to be_between(one, 2 * one)
  end

  it "is known to the GC, which frees unreferenced profiles" do
    expect(run_json(<<~RUBY, chdir: box)).to match(collections: be_positive, most: be < 60)
      large = Profiler::Profile.load("large.folded")
      GC.start
      before = GC.count
      most = 0
      60.times do
        large.trim_path("/nowhere")
        most = [most, ObjectSpace.each_object(Profiler::Profile).count].max
      end
      print_json(collections: GC.count - before, most: most)
    RUBY
  end
end
