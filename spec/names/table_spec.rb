# frozen_string_literal: true

require "json"

# The cases stand in the script, each with the name that it should have on every Ruby.
RSpec.describe "Method names" do
  it "are right for every kind of method, in profiles and from Profiler.name_of" do
    result = ruby_child("spec/programs/names.rb")
    said = JSON.parse(result.out)
    expect(said["wrong"]).to eq([]), result.err
    expect(said["cases"]).to be > 75
  end

  it "are refused for what is not a method" do
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      [nil, 1, :each, proc {}, "Foo#bar"].each { |it| Profiler.name_of(it) rescue puts "\#{$!.class}: \#{$!.message}" }
    RUBY
    expect(result.out.lines(chomp: true)).to eq(%w[NilClass Integer Symbol Proc String].map do |name|
      "ArgumentError: a #{name} has no name in profiles (allowed: Method, UnboundMethod)"
    end)
  end

  it "come with the kind of the function" do
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      profile = Profiler.run do
        200.times { GC.start }
        [1].each { Profiler::Testing.handler_ns(16) }
      end
      frames = profile.samples.flat_map(&:frames)
      puts frames.map { |it| "\#{it.name} \#{it.kind}" }.uniq
    RUBY
    expect(result.out.lines(chomp: true)).to include("<main> ruby", "(garbage collection) synthetic")
    expect(result.out).to match(/^Array#each (cfunc|ruby)$/) # it is written in Ruby from 3.4 on
    expect(result.out).to match(/^Profiler::Testing.handler_ns cfunc$/)
  end

  it "are found for new methods, although the search is cached" do
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      def tick = Profiler::Testing.handler_ns(16)
      class Foo; end
      body = proc { tick }
      name = -> { Profiler.run(threads: :current) { yield_to = Foo.new; yield_to.a }.samples.flat_map { |it| it.frames.map(&:name) }.grep(/Foo/).uniq }
      Foo.define_method(:a, &body)
      p name.call
      Foo.define_method(:b, &body)
      begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      again = name.call until again&.first == "Foo\\\#{a, b}" || Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun > 60
      p again
    RUBY
    expect(result.out).to eq(%(["Foo#a"]\n["Foo\\\#{a, b}"]\n)), result.err
  end
end
