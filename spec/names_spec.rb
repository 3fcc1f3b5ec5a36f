# frozen_string_literal: true

# The ordinary cases: what people have in nearly every stack.
RSpec.describe "Names" do
  def names_in(code)
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      def burn
        till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) + 80
        10.times { |number| number.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) < till
      end
      #{code}
      frames = profile.samples.flat_map(&:frames).uniq
      frames.each { |it| puts [it.name, it.class_name, it.method_name, it.path == __FILE__ ? "here" : it.path].join("|") }
    RUBY
    expect(result.status).to be_success, result.err
    result.out.lines(chomp: true)
  end

  it "are Class#method for methods, Class.method for those of classes and modules" do
    names = names_in(<<~RUBY)
      module Outer
        class Inner
          def work = burn
          def self.make = new.work
        end
        def self.start = Inner.make
        module_function def helper = start
      end
      profile = Profiler.run { Outer.helper }
    RUBY
    expect(names).to include("Outer::Inner#work|Outer::Inner|work|here", "Outer::Inner.make|#<singleton of Outer::Inner>|make|here",
                             "Outer.start|#<singleton of Outer>|start|here", "Outer.helper|#<singleton of Outer>|helper|here",
                             "Object#burn|Object|burn|here")
  end

  it "are owner and name for C functions" do
    names = names_in("profile = Profiler.run { [1].each { [2].map { burn } } }")
    expect(names.grep(/\AArray#each\|Array\|each\|/)).not_to be_empty
    expect(names.grep(/\AArray#map\|Array\|map\|/)).not_to be_empty
  end

  it "are the method itself for its blocks, rescues and evals, and Ruby's label at the top level" do
    names = names_in(<<~RUBY)
      class Foo
        def work = [1].each { begin; raise "x"; rescue; eval("burn"); end }
      end
      profile = Profiler.run { Foo.new.work }
    RUBY
    expect(names).to include("Foo#work|Foo|work|here", "<main>|||here", "block in <main>|||here")
    expect(names.grep(/block.*work|rescue/)).to be_empty
  end

  it "hold no address, whatever has no name" do
    names = names_in(<<~RUBY)
      anonymous = Class.new { def work = burn; def self.make = new.work }
      object = Object.new
      def object.single = burn
      mod = Module.new { def mixed = burn }
      profile = Profiler.run do
        anonymous.make
        object.single
        Object.new.extend(mod).mixed
        Class.new(anonymous).new.tap { |it| def it.own = burn }.own
      end
    RUBY
    expect(names.grep(/0x\h/)).to be_empty
    expect(names.grep(/anonymous|instance of/)).not_to be_empty
  end

  it "are the same in two processes" do
    code = <<~RUBY
      klass = Class.new { define_method(:made) { burn }; def plain = burn }
      profile = Profiler.run { 3.times { klass.new.made; klass.new.plain } }
    RUBY
    # A name can stand there twice: once for each line that was hit.
    ours = ->(names) { names.grep(/\|here\z/).uniq.sort }
    expect(ours[names_in(code)]).to eq(ours[names_in(code)])
  end

  it "survive the death of what they name" do
    result = ruby_child("-e", <<~RUBY, timeout: 120)
      require "profiler"
      GC.auto_compact = true
      profile = Profiler.run(interval: 50) do
        400.times do |turn|
          eval("class Gone\#{turn}; def work = 300.times { |it| it.to_s }; end; Gone\#{turn}.new.work")
          Object.send(:remove_const, "Gone\#{turn}")
          GC.compact if turn % 20 == 0
        end
      end
      puts profile.samples.flat_map { |row| row.frames.map(&:name) }.uniq.grep(/Gone|unknown/)
    RUBY
    expect(result.status).to be_success, result.err
    expect(result.out.lines(chomp: true)).to all(match(/\AGone\d+#work\z/).or(match(/\A<class:Gone\d+>\z/)))
  end

  it "are never asked of user code" do
    result = ruby_child("-e", <<~RUBY)
      require "profiler"
      class Hostile
        def self.name = abort("asked")
        def self.to_s = abort("asked")
        def self.inspect = abort("asked")
        def self.hash = abort("asked")
        def work = 200_000.times { |it| it.to_s }
      end
      puts Profiler.run { Hostile.new.work }.top(sort: :total).map { |row| row[:name] }.grep(/work/)
    RUBY
    expect([result.out, result.err]).to eq(["Hostile#work\n", ""])
  end
end
