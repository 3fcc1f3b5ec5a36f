# frozen_string_literal: true

# The first printed line is true: for programs that wait, load, or run on a busy machine, and for the same programs without the cause.
RSpec.describe "the first line" do
  include_context "with a box"

  hooked = RUBY_VERSION >= "3.3"

  def record(source, mode: "cpu,wall")
    result = profiler_child("record", "--json", "--mode", *mode.split, "-o", "a.pb.gz", "--", RbConfig.ruby, script("#{burn}\n#{source}"), chdir: box, timeout: 120)
    expect(result.status).to be_success, result.err
    JSON.parse(result.err[/^\{.*/m], symbolize_names: true)
  end

  def first_of(source, **options) = record(source, **options).fetch(:findings).first

  it "is the wait of a script that does nothing else", :timed do
    lines = profiler_child("record", "--mode", "cpu,wall", "-o", "a.pb.gz", "--", RbConfig.ruby, script("sleep 1.5"), chdir: box).err
    expect(lines).to match(/^ *(?:100\.0|9[5-9]\.\d)%  sleeping in <main>  app\.rb:1$/)
    expect(lines).to match(/ samples?,(?: \d dropped,)? overhead [\d.]+% of one core\)$/)
    expect(lines).not_to include "too few"
  end

  IDLE_WORKERS = "8.times { Thread.new { Thread::Queue.new.pop } }\n"

  {
    "IO.select([@reader], nil, nil, 0.2)" => /waiting for events in IO\.select, called from Poller#poll/,
    "@queue.pop" => /waiting for a queue in Poller#poll/,
    "@reader.wait_readable(0.2)" => /waiting for IO in IO#wait_readable, called from Poller#poll/
  }.each do |wait, text|
    it "is #{wait} in a method of the main thread, beside idle workers", :timed do
      json = record(<<~RUBY)
        require "io/wait"
        #{IDLE_WORKERS}
        class Poller
          def initialize
            @reader, @writer = IO.pipe
            @queue = Thread::Queue.new
            Thread.new { loop { sleep 0.2; @queue << 1 } }
          end
          def poll = #{wait}
        end
        poller = Poller.new
        6.times { poller.poll; Array.new(30_000) { |it| "a" * 50 } }
      RUBY
      first = json[:findings].first
      expect(first).to include(kind: "waiting", text: match(text), share: be > 0.5)
      idle = json[:findings].find { |entry| entry[:kind] == "idle" }
      expect(idle[:text]).to match(/\A(?:8|9) threads waited for work/)
      report = profiler_child("report", "a.pb.gz", chdir: box).out
      expect(report).to include idle[:text]
      expect(report[/^samples +([\d,]+)/, 1].delete(",").to_i).to eq json[:samples]
    end
  end

  # On 3.3, a method written in Ruby; before, in C.
  it "is the method whose block an iterator calls" do
    first = first_of("class Cart\n  def total\n    6_000_000.times { |number| number & 7 }\n  end\nend\nCart.new.total", mode: "cpu")
    expect(first).to include(kind: "running", text: "running Cart#total", line: burn.lines.size + 3)
  end

  it "is the work of threads that the main one joins", :timed do
    first = first_of("burn(50)\nclass Job\n  def run = burn(400)\nend\n[Thread.new { Job.new.run }].each(&:join)")
    expect(first).to include(kind: "running", text: /Object#burn|Job#run/)
  end

  it "is not a wait for code in a block of a caller that could wait", :timed do
    others = Array.new(3) { spawn(RbConfig.ruby, "-e", "loop { }") }
    first = first_of(<<~RUBY)
      require "monitor"
      class Page
        include MonitorMixin
        TEXT = "some text with words " * 2_000
        def render = synchronize { TEXT.gsub(/w\\w+/) { |it| it.upcase } }
      end
      page = Page.new
      start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      page.render while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start < 0.5
    RUBY
    expect(first).to include(kind: "running", text: match(/String#gsub.*Page#render|Page#render/), share: be > 0.5)
  ensure
    others.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
  end

  it "says what was loaded, for which gem and at which line" do
    File.write("#{box}/big.rb", "module Big\n#{Array.new(20_000) { |number| "  def self.m#{number}(a, b) = a + b * #{number}\n" }.join}end\n")
    first = first_of("$:.unshift(#{box.inspect})\nrequire \"big\"\nburn(1)", mode: "cpu")
    expect(first).to include(kind: "loading", line: burn.lines.size + 2, share: be > 0.5)
  end

  it "says what loading took only if time was measured" do
    found = record("require \"csv\"\nArray.new(50) { |number| number.to_s }", mode: "allocations --every 10").fetch(:findings)
    expect(found).to all include(kind: "allocations", share: be <= 1)
  end

  it "is not the load of a program that runs in a required file", :timed do
    File.write("#{box}/program.rb", "class Program\n  def run = burn(300)\nend\nProgram.new.run\n")
    expect(first_of("require_relative \"program\"")).to include(kind: "running", text: /burn/)
  end

  it "leads to the innermost function that has half of the time when no method is hot", :timed do
    methods = Array.new(12) { |number| "def work#{number} = 2_000.times { |n| n & #{number} }" }.join("\n")
    parts = { head: 0..3, body: 4..7, foot: 8..11 }.map { |name, numbers| "def #{name} = (#{numbers}).each { |it| send(\"work\#{it}\") }" }.join("\n")
    source = "class Page\n#{methods}\n#{parts}\ndef render\n  head\n  body\n  foot\nend\nend\n400.times { Page.new.render }"
    expect(first_of(source, mode: "cpu")).to include(kind: "running", text: match(/\Ainside Page#render: [\d.]+% Page#(?:head|body|foot), [\d.]+% Page#(?:head|body|foot)\z/), share: be > 0.8)
  end

  # Without other threads, for which Ruby itself would interrupt the sleep.
  it "is the C code that blocks with the GVL", :timed, if: hooked && RbConfig::CONFIG["host_os"].include?("linux") do
    source = <<~RUBY
      require "fiddle"
      SLEEP = Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
      class Query
        def run = SLEEP.call(300_000)
      end
      5.times { Query.new.run }
    RUBY
    expect(first_of(source)).to include(kind: "blocked", text: match(/\Ablocked in .*Query#run for .* without releasing the GVL\z/))
    released = record(source.sub("need_gvl: true", "need_gvl: false")).fetch(:findings)
    expect(released.first).to include(kind: "waiting", text: match(/Query#run\z/))
    expect(released.map { |it| it[:kind] }).not_to include("blocked")
  end

  # The program's CPU time is enough for samples, so that findings are printed.
  it "says in every output how small a part of the time is CPU time", :timed do
    note = /used the CPU for [\d.]+ ms of [\d.]+ s: mode wall shows the rest/
    found = record("burn(200)\nsleep 2", mode: "cpu").fetch(:findings)
    expect(found.first).to include(kind: "trust", text: match(note), share: nil)
    expect(found[1]).to include(kind: "running")
    lines = profiler_child("report", "a.pb.gz", chdir: box).out.gsub(/\s+/, " ")
    expect(lines).to match(note)
    expect(profiler_child("report", "a.pb.gz", "--md", chdir: box).out).to match(/^- #{note}$/)
    page = profiler_child("convert", "a.pb.gz", "a.html", chdir: box)
    expect(page.status).to be_success, page.err
    expect(File.read(in_box("a.html"))).to match(note)
    %w[cpu,heap cpu,native].each { |mode| expect(record("burn(50)\nsleep 1", mode: mode).fetch(:findings).first).to include(kind: "trust", text: match(note)) }
    expect(record("sleep 0.1\nburn(1500)", mode: "cpu").fetch(:findings).map { |it| it[:text] }).not_to include(match(note))
  end

  it "names the largest place and class of objects, however small" do
    first = first_of("class Row\n  def name = \"x\" * 100\nend\n200.times { Row.new.name }", mode: "allocations")
    expect(first).to include(kind: "allocations", text: match(/\Aallocated: .* in /))
  end
end
