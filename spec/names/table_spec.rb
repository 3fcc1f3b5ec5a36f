# frozen_string_literal: true

# The cases stand in the script, each with the name that it should have on every Ruby.
RSpec.describe "Method names" do
  include_context "with a program"

  it "are right for every kind of method, in profiles and from Profiler.name_of" do
    expect(program_json("names")).to include(wrong: [], cases: be > 75)
  end

  it "are refused for what is not a method" do
    refused = run_json('print_json([nil, 1, :each, proc {}, "Foo#bar"].map { |it| error { Profiler.name_of(it) } })')
    expect(refused).to eq(%w[NilClass Integer Symbol Proc String].map do |name|
      "ArgumentError: a #{name} has no name in profiles (allowed: Method, UnboundMethod)"
    end)
  end

  it "include the kind of the function" do
    kinds = run_json(<<~RUBY)
      profile = Profiler.run do
        200.times { GC.start }
        [1].each { Profiler::Testing.handler_ns(16) }
      end
      print_json(profile.samples.flat_map(&:frames).map { |it| [it.name, it.kind] }.uniq)
    RUBY
    expect(kinds).to include(%w[<main> ruby], ["(garbage collection)", "synthetic"], %w[Profiler::Testing.handler_ns cfunc])
    expect(kinds).to include(%w[Array#each cfunc]).or include(%w[Array#each ruby]) # it is written in Ruby from 3.4 on
  end

  it "are found for new methods, although the search is cached" do
    expect(run_json(<<~'RUBY')).to eq([["Foo#a"], ['Foo#{a, b}']])
      def tick = Profiler::Testing.handler_ns(16)
      class Foo; end
      body = proc { tick }
      name = -> { Profiler.run(threads: :current) { yield_to = Foo.new; yield_to.a }.samples.flat_map { |it| it.frames.map(&:name) }.grep(/Foo/).uniq }
      Foo.define_method(:a, &body)
      before = name.call
      Foo.define_method(:b, &body)
      begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      again = name.call until again&.first == 'Foo#{a, b}' || Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun > 60
      print_json([before, again])
    RUBY
  end
end
