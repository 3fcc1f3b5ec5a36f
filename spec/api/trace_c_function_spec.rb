# frozen_string_literal: true

RSpec.describe "Profiler.trace of a C function" do
  include_context "with a program"

  it "counts only its own calls, with callers, results, exceptions and durations" do
    report = program_json("trace/c_functions")
    expect(report[:pack]).to include(calls: 46, finished: 46, raised: 5, results: [["String", 41]], exceptions: [["TypeError", 5]], other_functions: be > 100, ended: nil)
    expect(report[:popped]).to include(finished: 30, raised: 0, results: [["NilClass", 30]])
    expect(report[:popped][:callers].map(&:first)).to eq(["Object#pop_all"])
    expect(report[:slept]).to include(calls: 5, name: "Kernel#sleep")
    expect(report[:slept][:shortest_ns]).to be_between(19_000_000, 200_000_000)
    expect(report).to include(nothing: 7, aliased: 2, switched: { finished: 2, results: [["NilClass", 1], ["Integer", 1]] }, left: 0)
    expect(report[:text]).to match(/^\[profiler\] a hook ran for \d+ other calls of C functions, \d+ [nu]s each$/)
  end

  it "ends by itself if the calls of other functions take too much, and leaves nothing behind" do
    report = JSON.parse(run(<<~'RUBY'), symbolize_names: true)
      trace = Profiler.trace("Array#join", max_overhead: 0.01)
      wait_for { 10_000.times { nil.to_s }; !trace.running? }
      print_json(ended: trace.to_h.slice(:ended, :calls), left: ObjectSpace.each_object(TracePoint).count(&:enabled?), running: Profiler.running?, text: trace.to_s)
    RUBY
    expect(report).to include(ended: { ended: "it took more than 1% of a core", calls: 0 }, left: 0)
    expect(report[:text]).to include("calls that Ruby makes without the function, such as [a, b].max, are not seen")
  end

  it "refuses a log of it, and what is made by attr_reader" do
    errors = JSON.parse(run(<<~'RUBY'))
      class Order; attr_reader :id; end
      print_json([error { Profiler.trace("Array#join", args: true) }, error { Profiler.trace("Array#join", when: "ms > 1") }, error { Profiler.trace("Order#id") }])
    RUBY
    expect(errors).to match([/Array#join is a C function: its calls can be counted but not logged/, /Array#join is a C function/, /Order#id is made by attr_reader or the like/])
  end
end
