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
      expect(text).to have_attributes(out: /\AOrder#save: 3 calls in .*it had as many calls as requested/m, err: "profiler: tracing Order#save\n")
    end
  end

  it "prints a line for each call that a condition lets through, while it runs" do
    live("#{order} ready; Thread.new { Profiler.label(user: 7) { loop { order.save(1); order.save(:other); sleep 0.005 } } }; wait_for_end") do |pid|
      result = profiler_of("trace", "--args", "--show", "number", "--when", "number == 1 and user == 7 and usr != 7", "--limit", "2", pid.to_s, "Order#save")
      expect(result.err).to eq "profiler: tracing Order#save\nprofiler: user, usr: no argument of the method, so taken as labels\n"
      expect(result.out.lines.first(2)).to all(match(/\A\d\d:\d\d:\d\d\.\d{3}  \d\S* .s.*  Order#save\(number: 1\) returned String, from -e:\d+\n/))
      expect(result.out).to match(/^Order#save: \d+ calls in .*it had as many calls as requested/m)
      json = JSON.parse(profiler_of("trace", "--lines", "--limit", "1", "--when", "ms >= 0", "--json", pid.to_s, "Order#save").out)
      expect(json["log"]).to match([/  Order#save returned String, from/, /\A +\d+ +\S+ .s\z/])
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

  it "ends when its client goes" do
    live("#{order} ready; Thread.new { loop { order.save(1); sleep 0.001 } }; wait_for_end") do |pid|
      client = Profiler::Control::Client.new(socket_of(pid))
      begun, = client.ask(do: "trace", method: "Order#save")
      wait_until { client.ask(do: "tracing", trace: begun["trace"]).first["calls"].positive? }
      client.close
      wait_until { error_of { ask(pid, do: "tracing", trace: begun["trace"]) }&.include?("is not one that runs") }
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
      { ["--args", "Array#each"] => /is a C function: its calls can be counted but not logged/, ["Nope#x"] => /there is no Nope here/, [] => /one process and one method are needed/,
        ["--for", "x", "Order#save"] => /"x" is not a number of seconds/, ["--limit", "0", "Order#save"] => /"0" is not a number of calls/,
        ["--max-overhead", "7", "Order#save"] => /7.0 is not a share of a core/ }.each do |arguments, message|
        result = profiler_of("trace", *arguments[0..-2], pid.to_s, *arguments.last(1))
        expect(result).to have_attributes(err: message, out: "")
        expect(result.status).not_to be_success
      end
    end
  end
end
