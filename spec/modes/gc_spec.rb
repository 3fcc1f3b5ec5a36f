# frozen_string_literal: true

# Where garbage collection shows.
RSpec.describe "Garbage collection" do
  include_context "with a box"

  it "is shown under its cause, in one place, or nowhere, depending on gc:" do
    result = ruby_child("-e", <<~RUBY, in_box("cpu.pb.gz"))
      require "profiler"
      def collects = 30.times { GC.start }
      def stacks(profile) = profile.samples.select { |row| row.state == :gc }.map { |row| row.frames.map(&:name) }.uniq
      profile = Profiler.run { collects }
      profile.save(ARGV[0])
      p stacks(profile).any? { |names| names.include?("Object#collects") }
      root = profile.gc(:root)
      p stacks(root), root.samples.sum(&:cpu) == profile.samples.sum(&:cpu)
      p Profiler.run(gc: :root) { collects }.then { |it| stacks(it) }
      left = Profiler.run(ignore_gc: true) { collects }
      p stacks(left), left.meta[:notes].grep(/left out/).size
    RUBY
    below = RUBY_VERSION >= "3.3" # before, no hook tells what caused it
    expect([result.out, result.err]).to eq([<<~TEXT, ""])
      #{below}
      [["(garbage collection)"]]
      true
      [["(garbage collection)"]]
      []
      1
    TEXT

    said = profiler_child("report", in_box("cpu.pb.gz"), "--gc", "ignore")
    expect(said.out).to match(/^note      garbage collection is left out: /)
    expect(said.out).not_to include("(garbage collection)")
    wrong = profiler_child("report", in_box("cpu.pb.gz"), "--gc", "leaf")
    expect([wrong.code, wrong.err]).to eq([2, "profiler: --gc leaf is not a place (allowed: root, ignore)\n"])
  end
end
