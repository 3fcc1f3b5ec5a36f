# frozen_string_literal: true

# Where garbage collection shows.
RSpec.describe "Garbage collection" do
  include_context "with a box"
  include_context "with a program"

  it "is shown under its cause, in one place, or nowhere, depending on gc:" do
    result = run_json(<<~RUBY, chdir: box)
      def collects = 30.times { GC.start }
      def stacks(profile) = profile.samples.select { |row| row.state == :gc }.map { |row| row.frames.map(&:name) }.uniq
      profile = Profiler.run { collects }
      profile.save("cpu.pb.gz")
      root, left = profile.gc(:root), Profiler.run(ignore_gc: true) { collects }
      print_json(below: stacks(profile), root: stacks(root), cpu: [profile, root].map { |it| it.samples.sum(&:cpu) }, recorded: stacks(Profiler.run(gc: :root) { collects }),
                 left: stacks(left), notes: left.meta[:notes])
    RUBY
    alone = [["(garbage collection)"]]
    below = RUBY_VERSION >= "3.3" ? include(include("Object#collects")) : alone # before, no hook tells what caused it
    expect(result).to match(below: below, root: alone, cpu: [be_positive, result[:cpu][0]], recorded: alone, left: [], notes: include(/left out/))

    result = profiler_child("report", in_box("cpu.pb.gz"), "--gc", "ignore")
    expect(result.out).to match(/^note      garbage collection is left out: /)
    expect(result.out).not_to include("(garbage collection)")
    wrong = profiler_child("report", in_box("cpu.pb.gz"), "--gc", "leaf")
    expect([wrong.code, wrong.err]).to eq([2, "profiler: --gc leaf is not allowed (allowed: root, ignore)\n"])
  end
end
