# frozen_string_literal: true

require_relative "../support/server"
require_relative "../support/tools"

# Programs with one planted cause each: the first finding names it, in words and with its line.
RSpec.describe "findings" do
  include Server
  include Tools
  include_context "with a box"

  hooked = RUBY_VERSION >= "3.3"

  # The findings of a program, as `profiler stat` has them.
  def findings(*command, mode: "cpu,wall")
    result = profiler_child("stat", "--json", "--mode", mode, "--", *command, chdir: box, timeout: 120)
    expect(result.status).to be_success, result.err
    JSON.parse(result.err[/^\{.*/m], symbolize_names: true).fetch(:findings)
  end

  # Without what the machine adds, on which other specs run meanwhile.
  def planted(found)
    found.reject { |row| row[:kind] == "no_cpu" }
  end

  def findings_of(source, **options)
    findings(RbConfig.ruby, script("#{burn}\n#{source}"), **options)
  end

  # The planted line is the one that ends with `# here`. +mirror+ takes the cause away.
  def self.finds(kind, text, source, mirror:, located: true, **options)
    line = located && source.lines.index { |entry| entry.include?("# here") }
    it "names #{text}", :timed do # shares of the wall clock
      found = planted(findings_of(source, **options)).first
      expect(found).to include(kind: kind, text: match(text))
      expect(found[:line]).to eq(line + burn.lines.size + 1) if line
      expect(found[:share]).to be_between(0.1, 1)
    end

    it "does not name #{text} without the cause" do
      without = mirror.reduce(source) { |lines, (cause, other)| lines.include?(cause) ? lines.sub(cause, other) : raise(KeyError, cause) }
      found = findings_of(without, **options).map { |it| [it[:kind], it[:text].sub(/ \(mostly .*/, "")] }
      expect(found).not_to include([kind, match(text)])
    end
  end

  finds "running", /\Arunning String#count, called from Order#parse\z/, <<~'RUBY', mirror: { "TEXT.count(\"a-z\")" => "1" }
    class Order
      TEXT = "a1 " * 400_000
      def parse
        TEXT.count("a-z") # here
      end
      def save = 500.times { |number| number.to_s }
    end
    400.times { Order.new.parse; Order.new.save }
  RUBY

  finds "waiting", /\Asleeping in Mailer#deliver\z/, <<~'RUBY', mirror: { "sleep 0.02" => "0" }
    class Mailer
      def deliver
        sleep 0.02 # here
      end
    end
    20.times { burn(10); Mailer.new.deliver }
  RUBY

  finds "waiting", /\Awaiting for IO in IO#gets, called from Feed#read\z/, <<~'RUBY', mirror: { "io.gets" => "io" }
    class Feed
      def read
        IO.popen("sleep 0.3; echo 1") do |io|
          io.gets # here
        end
      end
    end
    2.times { burn(100); Feed.new.read }
  RUBY

  finds "waiting", /\Awaiting for a lock in Account#update\z/, <<~'RUBY', mirror: { "IO.popen(\"sleep 0.3\").read" => "1" }
    LOCK = Mutex.new
    class Account
      def update
        LOCK.synchronize { 1 } # here
      end
    end
    audit = Thread.new { 3.times { LOCK.synchronize { IO.popen("sleep 0.3").read }; Thread.pass } }
    sleep 0.01
    4.times { Account.new.update; sleep 0.001 }
    audit.join
  RUBY

  finds "waiting", /\Awaiting for a full queue in Producer#push\z/, <<~'RUBY', mirror: { "SizedQueue.new(1)" => "SizedQueue.new(100)" }
    QUEUE = SizedQueue.new(1)
    class Producer
      def push
        QUEUE.push(1) # here
      end
    end
    Thread.new { loop { QUEUE.pop; sleep 0.05 } }
    Array.new(3) { Thread.new { 5.times { Producer.new.push } } }.each(&:join)
  RUBY

  finds "waiting", /\Awaiting for another process in Deploy#run\z/, <<~'RUBY', mirror: { "system(\"sleep 0.3\")" => "1" }
    class Deploy
      def run
        system("sleep 0.3") # here
      end
    end
    2.times { burn(100); Deploy.new.run }
  RUBY

  # Before Ruby 3.3 a GC has no stack.
  finds "gc", /\Acollecting garbage#{", ([\\d.]+% )?requested by GC.start in Cache#clear" if hooked}\z/, <<~'RUBY', located: hooked, mirror: { "GC.start" => "1", "300_000" => "3", "burn(1)" => "300_000.times { |n| n & 1 }" }
    KEPT = Array.new(300_000) { |number| [number] }
    class Cache
      def clear
        GC.start # here
      end
    end
    20.times { burn(1); Cache.new.clear }
  RUBY

  finds "allocations", /\Aallocated: .* of String in Row#name/, <<~'RUBY', mode: "allocations", mirror: { "\"x\" * 100" => "1" }
    class Row
      def name
        "x" * 100 # here
      end
    end
    60_000.times { Row.new.name }
  RUBY

  finds "live", /\Alive at the end: .* of (?:Array|Hash|String) in Cache#add\z/, <<~'RUBY', mode: "heap", mirror: { "@rows[key] = [\"row\", key]" => "[\"row\", key]" }
    class Cache
      def initialize = @rows = {}
      def add(key)
        @rows[key] = ["row", key] # here
      end
    end
    CACHE = Cache.new
    60_000.times { |key| "x" * 50; CACHE.add(key) }
  RUBY

  # As Rails compiles them, with the numbers of one process in the name.
  it "names a template by its file" do
    found = findings_of(<<~'RUBY')
      class View
        eval "def _app_views_orders_index_html_erb___3094178233445674_23441 = @orders.map { |it| it.to_s * 9 }", binding, "/srv/app/views/orders/index.html.erb", 1
        def render = 20.times { @orders = (1..20_000).to_a; _app_views_orders_index_html_erb___3094178233445674_23441 }
      end
      View.new.render
    RUBY
    texts = found.map { |it| it[:text] }.join("\n")
    expect(texts).to include "app/views/orders/index.html.erb"
    expect(texts).not_to include "_app_views_"
  end

  context "with the hooks on the GVL", if: hooked do
    finds "gvl", /\Awaiting for the GVL, (?:[\d.]+% )?held by Feed#parse\z/, <<~'RUBY', mirror: { "10_000.times { |number| number.to_s } while true" => "sleep" }
      class Feed
        def parse
          10_000.times { |number| number.to_s } while true # here
        end
      end
      Thread.new { Feed.new.parse }
      60.times { sleep 0.001; burn(1) }
    RUBY

    it "notes a missing CPU, which is left out of the percentages", :timed do
      cpu = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\d+)/, 1]
      others = Array.new(3) { spawn("taskset", "-c", cpu, RbConfig.ruby, "-e", "loop { }") }
      found = findings("taskset", "-c", cpu, RbConfig.ruby, script("#{burn}\nburn(300)"))
      expect(found.first).to include(kind: "running", name: "Object#burn", share: be > 0.5) # it also collects garbage
      expect(found.last).to include(kind: "no_cpu", text: match(/\Awaited .* for a CPU that others used \(left out of the percentages\)\z/), share: nil)
    ensure
      others.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    end
  end

  describe "programs of others" do
    it "names what a task of Rake waits for" do
      File.write(in_box("Rakefile"), "task(:import) do\n  3.times { IO.popen('sleep 0.3').read }\nend\n")
      found = planted(findings(RbConfig.ruby, "-S", "rake", "import")).first
      expect(found).to include(kind: "waiting", text: match(/\Awaiting for IO in IO#read, called from block .*\z/), line: 2)
      expect(found[:path]).to end_with "/Rakefile"
    end

    it "names the code that a suite of RSpec runs", :timed do
      File.write(in_box("slow_spec.rb"), <<~'RUBY')
        class Price
          def round(times)
            times.times { |number| (number * 1.07).round(2) }
          end
        end
        RSpec.describe(Price) { it("rounds") { expect(described_class.new.round(3_000_000)).to eq 3_000_000 } }
      RUBY
      found = planted(findings(RbConfig.ruby, "-S", "rspec", "slow_spec.rb")).first
      expect(found).to include(kind: "running", name: "Price#round", line: 3)
    end

    it "names what requests to Puma wait for, and leaves out its idle threads" do
      need "puma"
      File.write(in_box("config.ru"), <<~'RUBY')
        class Database
          def query
            IO.popen("sleep 0.4").read # long beside what it takes to start it
          end
        end
        run(lambda { |env| [200, {}, [env["PATH_INFO"] == "/slow" ? Database.new.query : "ready"]] })
      RUBY
      command = [RbConfig.ruby, Child::EXE, "record", "--mode", "cpu,wall", "-o", "a.pb.gz", "--", "puma", "-q", "-t", "8:8", "-b", "tcp://127.0.0.1:PORT"]
      log = serving(*command, "config.ru", chdir: box) do |port|
        6.times { ask(port, "/slow") }
        sleep 1 # with nothing to do
      end
      expect(log).to match(/^ *[\d.]+%  waiting for IO in IO#read, called from Database#query +config\.ru:3$/)
      expect(log).to match(/^ +\d+ threads waited for work: idle, /)
      table = profiler_child("report", "a.pb.gz", chdir: box).out
      expect(table).to match(/idle waits are left out: .* of \d+ threads/)
      waits = lambda do |*options|
        top = JSON.parse(profiler_child("report", "a.pb.gz", "--json", "--limit", "0", *options, chdir: box).out)["top"]
        top.select { |row| row["name"].match?(/Mutex#sleep|ConditionVariable#wait/) }.sum { |row| row["self"] } / top.sum { |row| row["self"] }.to_f
      end
      expect(waits.call).to be < 0.05
      expect(waits.call("--idle")).to be > 0.3
    end

    it "leaves out what Puma loads before its requests, without the middleware", :timed do
      need "puma"
      File.write(in_box("big.rb"), "module Big\n#{Array.new(20_000) { |it| "  def self.m#{it}(a, b) = a + b * #{it}\n" }.join}end\n")
      File.write(in_box("config.ru"), <<~'RUBY')
        require_relative "big"
        class Cart
          def total
            60_000.times { |number| Integer.sqrt(number) }
          end
        end
        run(lambda { |env| [200, {}, [env["PATH_INFO"] == "/cart" ? Cart.new.total.to_s : "ready"]] })
      RUBY
      command = [RbConfig.ruby, Child::EXE, "record", "--mode", "cpu", "-o", "a.pb.gz", "--", "puma", "-q", "-t", "2:2", "-b", "tcp://127.0.0.1:PORT", "config.ru"]
      printed = ->(requests) { serving(*command, chdir: box) { |port| requests.times { ask(port, "/cart") } } }
      expect(printed[80]).to match(/^ *[\d.]+%  running Cart#total  config\.ru:4$/).and(match(/^ +loaded code for .*: left out, because it was before the requests$/))
      expect(printed[0]).to match(/^ *[\d.]+%  loading code/), "nothing was served, so loading is what it did"
    end

    it "names code of a library with the line of the app that called it" do
      source = "require 'rdoc'\nclass Page\n  def html(text)\n    RDoc::Markup::ToHtml.new(RDoc::Options.new).convert(text)\n  end\nend\n200.times { Page.new.html('= A' + ' *word*' * 60) }"
      found = findings(RbConfig.ruby, script(source)).find { |finding| finding[:kind] == "running" }
      expect(found).to include(text: match(/\A(?:running|inside) .*Page#html(?::|\z)/), line: 4)
    end
  end

  it "names only the hottest method when nothing was planted" do
    source = Array.new(30) { |number| "def work#{number} = 300.times { |it| it & 7 }" }.join("\n")
    kinds = findings_of("#{source}\nnames = private_methods.grep(/\\Awork/)\n400.times { names.each { |it| send(it) } }").map { |entry| entry[:kind] }
    expect(kinds - %w[running loading no_cpu trust]).to eq []
  end

  it "counts threads that only wait, and leaves them out" do
    source = <<~'RUBY'
      QUEUE = Queue.new
      3.times { Thread.new { QUEUE.pop } }
      sleep 0.01
      burn(300)
    RUBY
    found = findings_of(source)
    expect(found.select { |row| %w[running gc].include?(row[:kind]) }.sum { |entry| entry[:share] }).to be > 0.7
    expect(found.find { |row| row[:kind] == "idle" }).to include(text: match(/\A3 threads waited for work: idle, /))
    expect(findings_of("3.times.map { Thread.new { burn(100) } }.each(&:join)").map { |it| it[:text] }).not_to include(match(/[2-9] threads waited/))
  end
end
