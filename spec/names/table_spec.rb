# frozen_string_literal: true

# The cases stand in the script, each with the name that it should have on every Ruby.
RSpec.describe "Method names" do
  include_context "with a program"

  it "are right for every kind of method, in profiles and from Profiler.name_of" do
    expect(program_json("names/table")).to include(wrong: [], cases: be > 75)
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

  it "are those of their own, of blocks that a loop generated at one place" do
    expect(run_json(<<~'RUBY')).to eq([["Foo#a"], ["Foo#b"], ["Foo#a"]])
      def tick = Profiler::Testing.handler_ns(16)
      class Foo; end
      %w[a b].each { |name| Foo.class_eval("define_method(:#{name}) { tick }", "foo.rb", 1) }
      names = ->(name) { Profiler.run(threads: :current) { Foo.new.public_send(name) }.samples.flat_map { |it| it.frames.map(&:name) }.grep(/Foo/).uniq }
      print_json(%w[a b a].map(&names))
    RUBY
  end

  # A process with so many methods of `define_method` that it takes a while to find out which one a block is.
  def with_methods(modules, code)
    run_json(<<~RUBY)
      MODULES = Array.new(#{modules}) { Module.new.tap { |it| Object.const_set("M\#{it.object_id}", it) } }
      MODULES.each { |it| 40.times { |number| it.define_method("m\#{number}") { number } } }
      def tick = Profiler::Testing.handler_ns(16)
      Found = Class.new
      8.times { |number| eval("Found.define_method(:a\#{number}) { tick }") }
      #{code}
    RUBY
  end

  it "are found while other threads run as beside any Ruby code", :timed do
    stop, pause = with_methods(14_000, <<~'RUBY')
      pause = 0
      last = nil
      other = Thread.new do
        loop { at = now; pause = [pause, at - last].max if last; last = at }
      end
      session = Profiler.start(threads: :current)
      Found.new.a0
      Thread.pass until last
      last = now
      pause = 0
      began = now
      session.stop
      took = now - began
      other.kill
      print_json([took, pause])
    RUBY
    expect(stop).to be > 200_000_000 # or it was shorter than a time slice
    expect(pause).to be < [150_000_000, 0.7 * stop].max
  end

  # The search takes more than two time slices, so that it would wait for other threads at least twice. At the end it waits once,
  # after it.
  it "are found immediately when the process ends, whatever other threads compute", :timed do
    before, at_end = with_methods(22_000, <<~'RUBY')
      8.times { Thread.new { loop { 1_000.times(&:to_s) } } }
      took = lambda do |name|
        session = Profiler.start(threads: :current)
        Found.new.public_send(name)
        began = now
        session.stop
        now - began
      end
      took.call(:a0) # the first time is not like the others
      pairs = [%i[a1 a2], %i[a3 a4], %i[a5 a6]].map { |name, other| [took.call(name), Profiler.const_get(:Ends).in_time { took.call(other) }] }
      print_json(pairs.transpose.map(&:min))
    RUBY
    expect(at_end).to be < 0.75 * before
  end

  it "are searched for seldom, however many there are", :timed do
    share = with_methods(200, <<~'RUBY')
      names = lambda do |number|
        Profiler.run(threads: :current) { Found.new.public_send("a#{number}") }.stats[:names_ns]
      end
      search = Array.new(8, &names).sort[4]
      began, spent = now, 0
      48.times do |turn|
        spent += names.call(turn % 8)
        sleep search * 13 / 1e9
      end
      print_json(spent.fdiv(now - began))
    RUBY
    expect(share).to be < 0.03
  end
end
