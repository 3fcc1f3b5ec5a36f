# frozen_string_literal: true

require_relative "../support/c_extension"

# Programs that hold objects in known ways. Each way must be named, and what it retains must be right.
RSpec.describe "Why objects are alive" do
  include_context "with a program"

  let(:leaky) { CExtension.options("memory/leaky") }

  # The names of the steps, without classes.
  def names(why) = why[:holders].first[:path].map { |step| step[:name] }

  it "are named, for eighteen ways to hold them" do
    found = program_json("memory/ways", ruby_options: leaky, timeout: 300)
    expect(found.values).to all(include(count: 1, retained: be_between(50_000, 60_000), holders: [include(count: 1)]))
    expected = {
      Constant: ["App::Cache", "::KEPT"],
      ClassIvar: ["App::Cache", "@entry"],
      ClassVariable: ["App::Cache", "@@all"],
      Global: ["$kept_globally"],
      FiberLocal: ["Object", "::WAITING", "[:kept]"],
      ThreadVariable: ["Object", "::WAITING", "thread variables", "[:held]"],
      ClosureLocal: ["App", "::BLOCK", "", "local variable kept"],
      StructMember: ["App", "::PAIR", ".right"],
      NestedIvar: ["App", "::OUTER", "@inner", "@inner"],
      HashKey: ["App", "::BY_KEY", "(a key)"],
      ExceptionIvar: ["App", "::ERROR", "@cause_of_it"],
      Element: ["App", "::LIST", "[1]", '["a key"]', "[:x]"]
    }
    expect(expected.to_h { |name, _| [name, names(found.fetch(name))] }).to eq(expected)
    expect(names(found[:Defined])).to start_with("App::Cache").and end_with("local variable kept")
    expect(names(found[:Singleton])).to start_with("App").and end_with("local variable kept")
    expect(names(found[:OtherStack])).to match(["Object", "::HOLDING", /\Alocal variable of \S+:\d+:in /])
    expect(names(found[:Suspended]).join(" > ")).to match(/\AObject > ::FIBER > (?:> )?local variable, or fiber-local, of \S+:\d+:in /)
    expect(names(found[:Enumerated])).to start_with("App", "::EACH")
    expect(found[:Registered][:holders].first).to include(root: eq("registered by C code").or(eq("the VM")))
  end

  it "retain what would be free without them, with the memory of malloc" do
    why = run_json(<<~'RUBY')
      class Session; def initialize(shared) = (@own = "s" * 20_000; @shared = shared); end
      class Store
        @all = {}
        def self.add(name, session) = @all[name] = session
      end
      shared = "h" * 3_000_000
      Thread.new { 500.times { |number| Store.add("k#{number}", Session.new(shared)) } }.join
      OTHERS = Thread.new { Array.new(20) { Session.new(nil) } }.value
      KEEPS_IT_TOO = [shared]
      print_json(Profiler.memory(why: "Session").why)
    RUBY
    expect(why).to include(class: "Session", count: 520, retained: be_within(200_000).of(520 * 20_050), others: 0)
    store, others = why[:holders]
    expect(store).to include(count: 500, retained: be_within(200_000).of(500 * 20_050), missing: 0)
    expect(store[:path].map { |step| step[:name] }).to match(["Store", "@all", /\A\["k\d+"\]\z/])
    expect(store[:path].map { |step| step[:class] }).to eq(%w[Class Hash Session])
    expect(store[:path].map { |step| step[:is_dominator] }).to eq([true, true, true])
    expect(store[:path][1][:retained]).to be_within(300_000).of(500 * 20_050)
    expect(others).to include(count: 20)
    expect(others[:path].map { |step| step[:name] }).to match(["Object", "::OTHERS", /\A\[\d+\]\z/])
  end

  it "are the largest of all, for *, whatever their class" do
    out = run(<<~'RUBY')
      module Big; STORE = { list: Array.new(3_000) { |n| "x" * 5_000 } }; end
      class Node; attr_accessor :next; end
      CHAIN = Node.new.tap { |first| 20_000.times.inject(first) { |node, _| node.next = Node.new } }
      ledger = Profiler.memory(why: "*")
      puts ledger
      p ledger.why[:holders].size, ledger.owners.any?
      p Profiler.memory(why: "Node").why.slice(:count, :others)
      again = Profiler::Ledger.parse(ledger.to_json)
      p again.why == ledger.why
    RUBY
    expect(out).to match(/^The objects that retain most, of .* in all:$/)
    expect(out).to match(/^ +1[45]\.\d MiB  1 object\n +(?:[\d.]+ [KM]iB)?  Big\n +1[45]\.\d MiB  > ::STORE  Hash\n +1[45]\.\d MiB  > \[:list\]  Array\n/)
    expect(out).to match(/^\d+\ntrue\n\{:?count(?:=>|: )20001, :?others(?:=>|: )0\}\ntrue\n\z/)
  end

  it "says what was asked wrongly, and calls no method of the app" do
    out = run_program("memory/rude_objects")
    expect(out).to start_with(<<~TEXT)
      2
      [["Object", "::HELD", "[nil]"], ["Object", "::HOLDER", "@held", "@held"]]
      1
      ArgumentError: why: 7 is not allowed (allowed: the name of a class, or "*")
      ArgumentError: why: no class is named "Wantd" (allowed: the name of a class that is loaded, or "*")
    TEXT
  end

  it "opens no file of ARGV to find the name of a global variable" do
    found = run_json(<<~'RUBY')
      class Wanted < Regexp; end
      ARGV.replace(["no such file", "other"])
      $; = Wanted.new("a separator") # has no name that people define, so all variables are looked at
      print_json([Profiler.memory(why: "Wanted").why[:holders].first[:root], ARGV])
    RUBY
    expect(found).to eq(["global variable", ["no such file", "other"]])
  end

  it "are found while other threads make, drop and move objects" do
    counts = run_json(<<~'RUBY', ruby_options: leaky, timeout: 300)
      require "leaky"
      Leaky.begin_storm(2)
      class Wanted; def initialize = @bytes = "n" * 3_000; end
      HELD = Array.new(300) { Wanted.new }
      busy = Array.new(2) { Thread.new { loop { Array.new(1_000) { |n| "z" * n }; GC.start } } }
      busy << Thread.new { loop { GC.compact; sleep 0.01 } } if GC.respond_to?(:compact)
      found = Array.new(8) { Profiler.memory(why: "Wanted").why }
      Leaky.end_storm
      busy.each(&:kill)
      print_json(found.map { |why| [why[:count], why[:holders].first[:path].map { |step| step[:name] }] })
    RUBY
    expect(counts.map(&:first)).to eq([300] * 8)
    expect(counts.map(&:last)).to all(match(["Object", eq("::HELD").or(start_with("(gone")), match(/\A\[\d+\]\z/).or(eq("")).or(start_with("(gone"))]))
  end

  it "keeps no thread from adding to a Hash whose keys are looked at" do
    name, failed = run_json(<<~'RUBY', timeout: 120)
      Session = Class.new
      ALL = (1..1_500_000).to_h { |number| [number, nil] }
      ALL[:last] = Session.new
      failed = nil
      Thread.new do
        (1..).each { |number| ALL[-number] = nil; ALL.delete(-number); sleep 0.0001 }
      rescue RuntimeError => e
        failed = e.message
      end
      print_json([Profiler.memory(why: "Session").why[:holders][0][:path].last[:name], failed])
    RUBY
    expect([name, failed]).to eq(["[:last]", nil])
  end
end
