# frozen_string_literal: true

require_relative "../support/tools"

RSpec.describe "Profiler.trace with calls: true" do
  include Tools
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("trace/calls") }

  it "counts the calls and blocks of methods of all kinds as these do, and all of the time" do
    report = program_json("trace/inside", timeout: 60)
    trace = report[:trace]
    functions = trace[:functions].to_h { |function| [function[:name].to_sym, function] }
    expect(functions.slice(*report[:calls].keys).transform_values { |it| it[:calls] }).to eq(report[:calls])
    expect(functions.slice(*report[:blocks].keys).transform_values { |it| it[:blocks] }).to eq(report[:blocks])
    expect(functions).not_to include(:"Shop#inner") # which ran in other fibers
    expect(trace[:calls]).to eq(report[:calls][:"Shop#run"])
    expect(trace.values_at(:ended, :unknown_callers, :unfollowed, :too_deep, :unpaired)).to eq([nil, 0, 0, 0, 0])
    own = trace[:functions].sum { |function| function[:self_ns] }
    expect(own).to be_within(own / 50).of(functions[:"Shop#run"][:total_ns])
    expect(own).to be < report[:took]
    expect(trace[:functions]).to all(satisfy { |function| function[:self_ns] <= function[:total_ns] })
    callers = functions[:"Shop#mutual"][:callers].to_h { |it| [it[:name], it[:calls]] }
    expect(callers).to eq("Shop#recursive" => report[:calls][:"Shop#recursive"] / 6, "Shop#other" => report[:calls][:"Shop#other"])
    expect(report[:text]).to match(/^ {5}calls +total +self  ran inside$/)
  end

  it "tells where a function is, and who called it" do
    report = JSON.parse(run(<<~'RUBY'))
      trace = calls_of("Order#save") { 3.times { Order.new.save(1) } }
      print_json([trace.functions.map(&:to_h), trace.to_s, trace.value, Profiler.trace("Order#save") { 1 }.functions])
    RUBY
    functions, text, value, none = report
    total = functions.find { |function| function["name"] == "Order#total" }
    expect(total).to include("path" => end_with("-e").or(end_with(".rb")), "line" => be_positive, "calls" => 6, "blocks" => 0)
    expect(total["callers"]).to match([a_hash_including("name" => "Order#save", "calls" => 6)])
    expect(functions.find { |function| function["name"] == "Array#rotate" }).to include("path" => "<cfunc>", "line" => 0, "calls" => 6)
    expect(text.lines.map { |line| line.chomp.size }.max).to be <= 80
    expect(text).to match(/^ +6 +\S+ .s +\S+ .s  Order#total$/).and match(/^\[profiler\] a hook ran for \d+ other calls? of methods and blocks, \d+ [nu]s each$/)
    expect([value, none]).to eq([3, []])
  end

  it "traces a C function, a recursion and a method of define_method" do
    report = JSON.parse(run(<<~'RUBY'))
      class Order
        define_method(:defined) { |number| number.zero? ? total(1) : defined(number - 1) }
      end
      order = Order.new
      sorted = calls_of("Array#sort") { 2.times { [2, 1, 3].sort { |one, other| order.total(1); one <=> other } } }
      deep = calls_of("Order#deep") { order.deep(50); order.deep(0) }
      defined = calls_of("Order#defined") { order.defined(4); order.defined(0) }
      raised = calls_of("Order#raising") { order.raising(4) rescue nil }
      print_json([sorted, deep, defined, raised].map { |trace| [counts(trace), trace.to_h.values_at(:calls, :finished, :raised, :unpaired), trace.functions.sum(&:self_ns) - trace.functions.map(&:total_ns).max] })
    RUBY
    sorted, deep, defined, raised = report
    expect(sorted[0]).to include("Array#sort" => 2, "Order#total" => be_between(4, 6))
    expect(deep[0]).to include("Order#deep" => 52)
    expect(deep[1]).to eq([52, 52, 0, 0])
    expect(defined[0]).to include("Order#defined" => 6, "Order#total" => 2, "Array#rotate" => 2)
    expect(raised[0]).to include("Order#raising" => 5)
    expect(raised[1]).to eq([5, 5, 5, 0])
    expect(report.map(&:last)).to all(eq(0))
  end

  it "ends in the middle of a call, with all that has begun, and stops all hooks" do
    report = JSON.parse(run(<<~'RUBY'))
      order = Order.new
      trace = nil
      order.define_singleton_method(:total) { |number| trace.stop if number == 7; super(number) }
      trace = calls_of("Order#save")
      order.save(1)
      order.save(7)
      before = counts(trace)
      order.save(1)
      limited = calls_of("Order#save", limit: 1) { 3.times { Order.new.save(1) } }
      dear = Profiler.trace("Order#save", max_overhead: 0.01, calls: true)
      wait_for { 1_000.times { Order.new.save(1) }; !dear.running? }
      outside = Profiler.trace("Order#deep", max_overhead: 0.01, calls: true)
      wait_for { 1_000.times { Order.new.save(1) }; !outside.running? }
      outside.stop # what is left is a TracePoint on a method that is not called
      print_json([before, counts(trace) == before, counts(limited), dear.to_h[:ended], outside.to_h[:ended], ObjectSpace.each_object(TracePoint).count(&:enabled?)])
    RUBY
    expect(report[0]).to include("Order#save" => 2, "Order#total" => 2)
    expect(report[1]).to be(true)
    expect(report[2]).to include("Order#save" => 1, "Order#total" => 2)
    expect(report[3..]).to eq(["it took more than 1% of a core", "it took more than 1% of a core", 0])
  end

  it "stays balanced when threads are killed or get an exception at any instant" do
    report = JSON.parse(run_program("trace/killed", timeout: 120))
    result, busy, seen, left, hooks = report
    expect(result).to include("calls" => busy, "finished" => busy, "unpaired" => 0, "too_deep" => 0, "unfollowed" => 0, "ended" => nil)
    expect(busy).to be_between(seen, seen + 300) # a call can end before its first line
    expect([left, hooks]).to eq([0, 0])
  end

  it "survives garbage collection, redefinition, forks, a deep stack, many fibers and another trace" do
    report = JSON.parse(run_program("trace/survival", timeout: 240))
    expect(report).to match([{ "Order#save" => 21, "Order#m3" => 2, "Order#total" => 42 }, [false, 21], 42, { "Order#swap" => 7, "Order#total" => 1 }, 0, true,
                             { "Order#save" => 256 }, [300, 300, 44]])
  end

  it "is written for KCachegrind, and refused with a log or for several methods" do
    errors = JSON.parse(run(<<~RUBY))
      Profiler.trace("Order#save", calls: true, max_overhead: 1, out: #{in_box("save.callgrind").dump}) { 2.times { Order.new.save(1) } }
      print_json([{ args: true, calls: true }, { calls: 1 }].map { |options| error { Profiler.trace("Order#save", **options) } } +
                 [error { Profiler.trace("Order#*", calls: true) }, error { Profiler.trace("Order#save", out: #{in_box("x.callgrind").dump}) }, error { Profiler.trace("Order#save") { 1 }.to_callgrind }])
    RUBY
    expect(errors).to match([/calls: true cannot be combined with args/, /calls: 1 is not allowed/, /calls: true is for one method/, /needs calls: true/, /was not counted/])
    text = File.read(in_box("save.callgrind"))
    expect(text).to start_with("# callgrind format\n").and match(/fn=\(\d+\) Order#total$/).and match(/^calls=4 \d+\n\d+ \d+$/)
  end

  it "is read by callgrind_annotate, with its sums" do
    need "callgrind_annotate"
    run("Profiler.trace('Order#save', calls: true, max_overhead: 1, out: #{in_box("save.callgrind").dump}) { 2.times { Order.new.save(1) } }")
    result = command_child("callgrind_annotate", "--auto=no", "--threshold=100", in_box("save.callgrind"))
    expect(result.out).to include("Order#save").and include("Order#total")
    total = File.read(in_box("save.callgrind"))[/^summary: (\d+)$/, 1]
    expect(result.out.delete(",")).to match(/^ *#{total} .*PROGRAM TOTALS$/)
  end
end
