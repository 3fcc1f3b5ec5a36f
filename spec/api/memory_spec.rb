# frozen_string_literal: true

# What profiles take in memory, which is outside of Ruby's heap.
RSpec.describe "The memory of a profile" do
  include_context "with a box"
  include_context "with a program"

  before { File.write(in_box("large.folded"), (1..40_000).map { |it| "main;#{"a;" * (it % 50)}f#{it} 1\n" }.join) }

  it "is reported by ObjectSpace.memsize_of" do
    expect(run(<<~RUBY, chdir: box)).to eq("true\ntrue\n")
      require "objspace"
      large = Profiler::Profile.load("large.folded")
      size = ObjectSpace.memsize_of(large)
      # A row, a function and a place in a stack each take more than 16 bytes; and that of several is no secret of the first.
      puts size > 40_000 * 3 * 16
      puts ObjectSpace.memsize_of_all(Profiler::Profile).between?(size, 2 * size)
    RUBY
  end

  it "is known to the GC, which frees unreferenced profiles" do
    expect(run(<<~RUBY, chdir: box)).to eq("true true\n")
      large = Profiler::Profile.load("large.folded")
      GC.start
      before = GC.count
      most = 0
      60.times do
        large.trim_path("/nowhere")
        most = [most, ObjectSpace.each_object(Profiler::Profile).count].max
      end
      puts "\#{GC.count > before} \#{most < 60}"
    RUBY
  end
end
