# frozen_string_literal: true

# Objects keep the code that is known for some time, so that a minor garbage collection need not mark it.
RSpec.describe "The code that a long session knows" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    def keepers = Profiler::Testing.keepers
    # Calls +count+ new methods, each of which allocates an object.
    def call_new(count, file)
      count.times { |number| send(Object.class_eval("def new_#{number} = Object.new", file, number + 1)) }
    end
    # Garbage collections request keepers, and jobs fill them.
    def collect(compacts: false)
      8.times do |round|
        GC.start(full_mark: round.even?)
        GC.compact if compacts && GC.respond_to?(:compact)
        10.times { |number| number.to_s }
      end
    end
  RUBY

  it "has keepers while somebody needs it" do
    result = run_json(<<~RUBY)
      session = Profiler.start(mode: :allocations, every: 1)
      call_new(3_000, "new.rb")
      collect
      counts = [keepers]
      collect
      counts << keepers
      in_child = in_fork { collect; keepers }
      session.stop
      collect
      print_json(counts: counts, in_child: in_child, at_last: keepers)
    RUBY
    expect(result[:counts].uniq).to match([be_between(5, 20)])
    expect(result).to include(in_child: 0, at_last: 0)
  end

  it "is named rightly once it is gone, through collections and compactions" do
    result = run_json(<<~RUBY, timeout: 120)
      session = Profiler.start(mode: :allocations, every: 1)
      threads = Array.new(2) { Thread.new { 200.times { Array.new(500) { "x" * 50 } } } }
      parts = Array.new(3) do |round|
        call_new(2_000, "round\#{round}.rb")
        collect(compacts: true)
        call_new(2_000, "gone\#{round}.rb")
        collect(compacts: true)
        session.rotate
      end
      threads.each(&:join)
      names = parts.map do |part|
        frames = part.samples.flat_map { |row| row.frames.map { |it| [it.name, File.basename(it.path), it.line] } }.uniq
        frames.select { |name, _file, _line| name.start_with?("Object#new_") }.sort_by { |_name, file, line| [file, line] }
      end
      print_json(names)
    RUBY
    expected = Array.new(3) do |round|
      %W[gone#{round}.rb round#{round}.rb].flat_map { |file| Array.new(2_000) { |number| ["Object#new_#{number}", file, number + 1] } }
    end
    expect(result).to eq(expected)
  end
end
