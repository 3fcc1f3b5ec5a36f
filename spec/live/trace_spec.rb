# frozen_string_literal: true

require_relative "../support/live"

RSpec.describe "profiler trace" do
  include_context "with a live program"

  order = "class Order; def save(number)\n number.to_s\n end; end; order = Order.new;"

  it "traces a method of a running process for some time, and leaves nothing behind" do
    live("#{order} ready; Thread.new { loop { order.save(1); sleep 0.005 } }; wait_for_end; abort 'a hook is left' if ObjectSpace.each_object(TracePoint).any?(&:enabled?)") do |pid|
      result = profiler_of("trace", "--for", "0.5", "--json", pid.to_s, "Order#save")
      expect(result).to have_attributes(err: "", status: be_success)
      trace = JSON.parse(result.out, symbolize_names: true)
      expect(trace).to include(name: "Order#save", calls: be > 5, raised: 0, results: [["String", trace[:finished]]])
      text = profiler_of("trace", "--limit", "3", pid.to_s, "Order#save")
      expect(text).to have_attributes(out: /\AOrder#save: 3 calls in .*it reached its limit of calls/m, err: "profiler: tracing Order#save\n")
    end
  end

  it "prints a line for each call that a condition lets through, while it runs" do
    live("#{order} ready; Thread.new { Profiler.label(user: 7) { loop { order.save(1); order.save(:other); sleep 0.005 } } }; wait_for_end") do |pid|
      result = profiler_of("trace", "--args", "--show", "number,shop", "--when", "number == 1 and user == 7 and usr != 7", "--limit", "2", pid.to_s, "Order#save")
      expect(result.err).to eq "profiler: tracing Order#save\nprofiler: user, usr, shop are not arguments of the method, so they are read as labels\n"
      expect(result.out.lines.first(2)).to all(match(/\A\d\d:\d\d:\d\d\.\d{3}  \d\S* .s.*  Order#save\(number: 1\) returned String, from -e:\d+\n/))
      expect(result.out).to match(/^Order#save: \d+ calls in .*it reached its limit of calls/m)
      json = JSON.parse(profiler_of("trace", "--lines", "--limit", "1", "--when", "ms >= 0", "--json", pid.to_s, "Order#save").out)
      expect(json["log"]).to match([/  Order#save returned String, from/, /\A +\d+ +\S+ .s\z/])
    end
  end

  it "says that an inherited method has calls on other classes, too" do
    live("#{order} class Special < Order; end; special = Special.new; ready; Thread.new { loop { order.save(1); special.save(2); sleep 0.005 } }; wait_for_end") do |pid|
      result = profiler_of("trace", "--args", "--show", "number", "--when", "self == 'Special'", "--limit", "2", pid.to_s, "::Special#save")
      expect(result.err).to eq "profiler: tracing Order#save\nprofiler: the method is defined in Order, so calls on classes other than Special count too " \
                               "(--when \"self == 'Special'\" prints those on Special)\n"
      expect(result.out.lines.first(3)).to match([/Order#save\(number: 2\)/, /Order#save\(number: 2\)/, /\AOrder#save: \d+ calls/])
    end
  end

  it "traces all methods of a class, with the lines of each" do
    live("#{order} def order.own(x)\n x\n end\n ready; Thread.new { loop { order.save(1); sleep 0.005 } }; wait_for_end") do |pid|
      result = profiler_of("trace", "--limit", "3", "--args", pid.to_s, "Order#*")
      expect(result).to have_attributes(err: "profiler: tracing Order#*\n", status: be_success)
      expect(result.out).to match(/\A(?:\d\d:.*Order#save\(number: Integer\) returned String, from -e:\d+\n){3}Order#\*: 3 calls of 1 method in /)
      json = JSON.parse(profiler_of("trace", "--for", "0.3", "--json", pid.to_s, "Order#*").out)
      expect(json["methods"].map { |it| it["name"] }).to eq(["Order#save"])
    end
  end

  it "counts what runs inside of the method" do
    live("class Order; def save(number) = 3.times { |part| add(part) }\n def add(part) = part.to_s\n end; order = Order.new; ready; Thread.new { loop { order.save(1); sleep 0.005 } }; wait_for_end") do |pid|
      result = profiler_of("trace", "--calls", "--rows", "1", "--limit", "4", "--max-overhead", "1", pid.to_s, "Order#save")
      expect(result).to have_attributes(err: /\Aprofiler: tracing Order#save\nprofiler: until the process ends, code with operators takes about twice as long, .*\n\z/, status: be_success)
      expect(result.out).to match(/^     calls      total       self  ran inside\n.*\n +\d+ +\S+ .s  \d+ further functions?$/)
      json = JSON.parse(profiler_of("trace", "--calls", "--limit", "4", "--max-overhead", "1", "--json", pid.to_s, "Order#save").out)
      calls = json["functions"].to_h { |function| function.values_at("name", "calls") }
      expect(calls).to include("Order#save" => 4, "Order#add" => 12, "Integer#to_s" => 12)
      expect(profiler_of("trace", "--calls", "--rows", "x", pid.to_s, "Order#save").err).to match(/--rows "x" is not a number of functions/)
      expect(profiler_of("trace", "--calls", pid.to_s, "Order#*").err).to match(/calls: true is for one method/)
    end
  end

  it "writes the result to a file, in the format that its name says" do
    live("#{order} ready; Thread.new { loop { order.save(1); sleep 0.005 } }; wait_for_end") do |pid|
      Dir.mktmpdir do |box|
        %w[it.callgrind it.json it.txt].each do |name|
          file = "#{box}/#{name}"
          result = profiler_of("trace", "--calls", "--limit", "4", "--max-overhead", "1", "--out", file, pid.to_s, "Order#save")
          expect(result).to have_attributes(out: "", err: /\Aprofiler: tracing Order#save\nprofiler: until .*\nprofiler: wrote #{Regexp.escape(file)}\n\z/, status: be_success)
        end
        full = profiler_of("trace", "--limit", "4", "--out", "/dev/full", pid.to_s, "Order#save")
        expect(full).to have_attributes(code: 1, out: start_with("Order#save: 4 calls in "), err: %r{^profiler: cannot write /dev/full: No space left on device$})
        expect(File.read("#{box}/it.callgrind")).to match(/^fn=.*Order#save$/).and match(/^calls=4 /)
        expect(JSON.parse(File.read("#{box}/it.json"))).to include("calls" => 4)
        expect(File.read("#{box}/it.txt")).to match(/\AOrder#save: 4 calls in .*^ +calls +total +self +ran inside$/m)
      end
    end
  end

  it "ends when its client goes" do
    live("#{order} ready; Thread.new { loop { order.save(1); sleep 0.001 } }; wait_for_end") do |pid|
      client = Profiler::Control::Client.new(socket_of(pid))
      begun, = client.ask(do: "trace", method: "Order#save")
      wait_until { client.ask(do: "tracing", trace: begun["trace"]).first["calls"].positive? }
      client.close
      wait_until { error_of { ask(pid, do: "tracing", trace: begun["trace"]) }&.include?("is not a running trace") }
    end
  end

  # Runs a program that waits until it is traced, calls the method three times and ends in that way; and the command that traces it.
  #
  # @return [Array(Child::Result, Child::Result)] the program and the command
  define_method(:traced_till_end) do |way, *options|
    %w[ready over].each { |name| File.delete(in_box(name)) if File.exist?(in_box(name)) } # of the program before
    code = "#{start}\n#{order} ready; sleep 0.01 until ObjectSpace.each_object(TracePoint).any?(&:enabled?); sleep 0.1; 3.times { |number| order.save(number) }\n#{way}"
    command = nil
    program = ruby_child("-e", code, env: environment) do |pid|
      wait_until { File.exist?(in_box("ready")) }
      command = profiler_of("trace", "--max-overhead", "1", *options, pid.to_s, "Order#save")
      File.write(in_box("over"), "")
    end
    [program, command]
  end

  it "prints the result of a process that ends, however it does" do
    ways = { "" => 0, "exit!(7)" => 7, "abort" => 1, "Thread.new { exit(4) }.join" => 4, "raise IOError" => 1, "Process.kill(:TERM, $$); sleep" => 143, "Process.kill(:INT, $$); sleep" => 130,
             "trap(:TERM) { exit!(3) }; Process.kill(:TERM, $$); sleep" => 3, "at_exit { order.save(4); exit!(5) }" => 5, "exec('true')" => 0, "Process.daemon; exit!(0)" => 0 }
    ways.each do |way, code|
      program, command = traced_till_end(way)
      expect(program.code).to eq(code), way
      reason = { "exec" => "called exec", "Proc" => "become a daemon" }.fetch(way.include?("kill") ? "" : way[0, 4], "ended")
      expect(command).to have_attributes(out: start_with("Order#save: #{way.include?("save") ? 4 : 3} calls in "), status: be_success,
                                         err: "profiler: tracing Order#save until Ctrl-C\nprofiler: the process has #{reason}: this is the result until then\n"), way
    end
  end

  it "prints the lines and the JSON of a process that ends" do
    _, command = traced_till_end("exit!", "--args", "--show", "number")
    expect(command.out).to match(/\A(?:\d\d:\S+  .*  Order#save\(number: \d\) returned String, from -e:\d+\n){3}Order#save: 3 calls in /)
    _, command = traced_till_end("exit", "--args", "--json")
    expect(JSON.parse(command.out)).to include("calls" => 3, "log" => have_attributes(size: 3))
  end

  it "does not keep a process that ends waiting for a client that reads nothing, and is not sent by a forked child" do
    live("#{order} ready; Thread.new { loop { order.save(1); sleep 0.01 } }; wait_for_end") do |pid|
      client = Profiler::Control::Client.new(socket_of(pid))
      client.ask(do: "trace", method: "Order#save") # and never reads again
      wait_until { client.ask(do: "tracing", trace: 1).first["calls"] > 2 }
    end
    program, command = traced_till_end("Process.wait(fork { order.save(5) }); order.save(6)")
    expect([program.code, command.out]).to match([0, start_with("Order#save: 4 calls in ")])
  end

  it "says what is known of a process that was killed" do
    program, command = traced_till_end("sleep 0.8; Process.kill(:KILL, $$)", "--args")
    expect(program.code).to eq(137)
    expect(command.out).to match(/\A(?:\d\d:\S+  .*  Order#save\(number: Integer\) returned String, from -e:\d+\n){3}\z/)
    expect(command.err).to match(/\nprofiler: the process was killed or has crashed, so the result is lost: 3 calls had begun by \d\d:\d\d:\d\d\n\z/)
    expect(command.status).not_to be_success
    _, command = traced_till_end("sleep 2.5; Process.kill(:KILL, $$)")
    expect(command.out).to start_with("Order#save: 3 calls in ")
    expect(command.err).to match(/\nprofiler: the process was killed or has crashed: this is the result as of \d\d:\d\d:\d\d; 3 calls had begun by \d\d:\d\d:\d\d\n\z/)
    expect(command.status).not_to be_success
  end

  it "prints the result at Ctrl-C, and at a signal that ends the command" do
    live("#{order} ready; Thread.new { loop { order.save(1); sleep 0.005; File.write(File.join(ENV.fetch('BOX'), 'traced'), '') if ObjectSpace.each_object(TracePoint).any?(&:enabled?) } }; wait_for_end") do |pid|
      %i[INT TERM].each do |signal|
        result = profiler_of("trace", pid.to_s, "Order#save") do |command|
          wait_until { File.exist?(in_box("traced")) }
          Process.kill(signal, command)
        end
        expect(result).to have_attributes(out: /\AOrder#save: \d+ calls? in /, err: "profiler: tracing Order#save until Ctrl-C\n", status: be_success)
        sleep 0.2 # the program may be about to write it once more
        File.delete(in_box("traced"))
      end
    end
  end

  def error_of
    yield
    nil
  rescue Profiler::Control::Client::Failed => e
    e.message
  end

  it "says what is wrong" do
    live("#{order} ready; wait_for_end") do |pid|
      { ["--args", "String#upcase"] => /is a C function: its calls can be counted but not logged/, ["Nope#x"] => /there is no Nope here/, [] => /expected one PID and one METHOD, got 1: /,
        ["--out", "x.callgrind", "Order#save"] => /--out x.callgrind needs --calls/, ["--out", "/nowhere/x.json", "Order#save"] => %r{cannot write /nowhere/x.json},
        ["--for", "x", "Order#save"] => /"x" is not a number of seconds/, ["--limit", "0", "Order#save"] => /"0" is not a number of calls/,
        ["--max-overhead", "7", "Order#save"] => /7.0 is not a share of a core/ }.each do |arguments, message|
        result = profiler_of("trace", *arguments[0..-2], pid.to_s, *arguments.last(1))
        expect(result).to have_attributes(err: message, out: "")
        expect(result.status).not_to be_success
      end
    end
  end
end
