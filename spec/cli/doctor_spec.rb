# frozen_string_literal: true

require_relative "../support/other_user"
require_relative "../support/terminal"

RSpec.describe "profiler doctor" do
  include OtherUser
  include Terminal
  include_context "with a box"

  let(:keys) do
    %i[ok problems warnings profiler ruby jits walking waits objects kernel intervals signal engines engine cost environment]
  end

  def facts(env: {})
    result = profiler_child("doctor", "--json", env: env)
    expect(result.err).to eq ""
    JSON.parse(result.out, symbolize_names: true).tap { |doctor| expect(result.code).to eq(doctor[:ok] ? 0 : 1) }
  end

  # Returns what the command prints on a terminal.
  def on_terminal(env = {})
    terminal_child(RbConfig.ruby, Child::EXE, "doctor", env: env).first
  end

  # The line about +name+, with its mark.
  def line(text, name)
    text[/^. #{Regexp.escape(name)} .*/]
  end

  it "prints the facts, one a line" do
    result = profiler_child("doctor")
    expect(result.out).to include(RUBY_VERSION, RUBY_PLATFORM, "This Ruby can be profiled here.\n")
    expect(result.out.lines.take(14).map { |line| line[/(?<=\A[ !] )\S+(?: tick)?/] })
      .to eq ["profiler", "Ruby", "YJIT", "ZJIT", "stacks", "waits", "objects", "kernel tick", "interval", "SIGPROF", "perf", "thread_timer", "ticker", "setitimer"]
    expect(line(result.out, "kernel tick")).to match(/ [\d.]+ ms \(\d+ Hz\)\z/)
    expect(line(result.out, "interval")).to match(/50 us requested, [\d.]+ [um]s effective; 1 ms requested, [\d.]+ ms effective; 10 ms requested, [\d.]+ ms effective of CPU/)
    coarse = profiler_child("doctor", env: { "PROFILER_ENGINE" => "thread_timer" }).out
    expect(line(coarse, "interval")).to match(/50 us requested, [\d.]+ ms effective; 1 ms requested, [\d.]+ ms effective; 10 ms requested, [\d.]+ ms effective of CPU: timers fire only at kernel ticks/)
    expect(line(result.out, "SIGPROF")).to match(/\A  SIGPROF +not handled\z/)
    expect(line(result.out, "engine")).to match(/the default; PROFILER_ENGINE=NAME selects another/)
    expect(line(result.out, "overhead")).to match(/about [\d.]+ us per sample of \d+ frames, [\d.]+ % of CPU at \d+ samples per second \(measured on \d+ samples\)/)
    expect([result.code, result.err]).to eq [0, ""]
  end

  it "prints JSON of a stable shape" do
    json = facts
    expect(json.keys).to eq keys
    expect(json).to include(ok: true, problems: [], signal: "nobody", profiler: String)
    expect(json[:ruby]).to eq(engine: "ruby", version: RUBY_VERSION, platform: RUBY_PLATFORM, unsupported: nil)
    expect(json[:waits]).to eq(seen: RUBY_VERSION < "3.3" ? "sampled" : "measured", reason: nil)
    expect(json[:engines]).to all match(name: String, available: be(true) | be(false), reason: be_nil | be_a(String), note: be_nil | be_a(String))
    expect(json[:engines].map { |entry| entry[:name] }).to include("perf", "thread_timer", "ticker", "setitimer", "safepoint")
    expect(json[:cost]).to match(sample_ns: be_positive, percent: Float, samples_per_second: be_positive, interval_ns: 1_000_000,
                                 effective_interval_ns: be_positive, samples: be_positive, frames: (be > 50))
    tick_ns = Process.clock_getres(Process::CLOCK_MONOTONIC_COARSE, :nanosecond)
    expect(json[:kernel]).to include(tick_ns: tick_ns, hz: (1e9 / tick_ns).round)
    expect(json[:intervals].first[:effective_ns]).to eq(%w[perf ticker].include?(json[:engine][:chosen]) ? 50_000 : tick_ns)
    coarse = facts(env: { "PROFILER_ENGINE" => "thread_timer" })[:intervals].map { |fact| fact[:effective_ns] }
    expect(coarse).to eq([50_000, 1_000_000, 10_000_000].map { |item| [item, tick_ns].max })
  end

  it "names the engine that a session gets" do
    got = ruby_child("-e", "require 'profiler'; print Profiler.run { }.meta[:engine]").out
    json = facts
    expect(json[:engine]).to eq(chosen: got, requested: nil)
    expect(json[:engines].find { |entry| entry[:name] == got }).to include(available: true)
  end

  it "reports a foreign handler of SIGPROF" do
    env = { "RUBYOPT" => "-r./spec/programs/refusals/foreign_handler" }
    result = profiler_child("doctor", env: env)
    expect(line(result.out, "SIGPROF")).to start_with("x ").and include "handled by another profiler or trap"
    expect(line(result.out, "thread_timer")).to include "not available: SIGPROF already has another handler"
    expect(line(result.out, "problem")).to start_with("x ").and include "SIGPROF already has a handler"
    expect(result.out).to end_with "This Ruby cannot be profiled here.\n"
    expect([result.code, result.err]).to eq [1, ""]
    expect(facts(env: env)).to include(ok: false, signal: "foreign", cost: nil, environment: include(env.transform_keys(&:to_sym)))
  end

  it "reports a foreign timer of the process" do
    result = ruby_child("-e", <<~RUBY)
      require "fiddle"
      setitimer = Fiddle::Function.new(Fiddle.dlopen(nil)["setitimer"], [Fiddle::TYPE_INT] + [Fiddle::TYPE_VOIDP] * 2, Fiddle::TYPE_INT)
      setitimer.call(2, [0, 0, 3600, 0].pack("q4"), nil) # ITIMER_PROF, in an hour of CPU
      ARGV.replace(["doctor"])
      load #{Child::EXE.inspect}
    RUBY
    expect(line(result.out, "setitimer")).to match(/\A! setitimer +not available: ITIMER_PROF is already in use\z/)
    expect(line(result.out, "thread_timer")).to match(/ available(, chosen)?\z/)
    expect([result.code, result.err]).to eq [0, ""]
  end

  it "names an engine requested by PROFILER_ENGINE, and an unknown one" do
    result = profiler_child("doctor", env: { "PROFILER_ENGINE" => "setitimer" })
    expect(line(result.out, "engine")).to include "setitimer, requested by PROFILER_ENGINE=\"setitimer\""
    expect(line(result.out, "setitimer")).to end_with "available, chosen"
    expect(result.code).to eq 0
    result = profiler_child("doctor", env: { "PROFILER_ENGINE" => "steam" })
    expect(line(result.out, "problem")).to include("PROFILER_ENGINE=\"steam\" is not an engine", "perf, thread_timer, ticker, setitimer, safepoint")
    expect([result.code, result.err]).to eq [1, ""]
    expect(facts(env: { "PROFILER_ENGINE" => "steam" })).to include(engine: { chosen: nil, requested: "steam" }, cost: nil)
  end

  it "lists the environment, one variable a line, and warns of values that autoload would refuse" do
    result = profiler_child("doctor", env: { "PROFILER_OUT" => "a.svg\n\e[2Jb.svg", "PROFILER_INTERVAL" => "often" })
    expect(line(result.out, "PROFILER_OUT")).to end_with '"a.svg\n\e[2Jb.svg"'
    expect(line(result.out, "warning")).to start_with("! ").and include 'interval: "often" is not an Integer from 50'
    expect(result.code).to eq 0
    expect(facts(env: { "PROFILER_OUT" => "\xFF" })[:environment]).to include(PROFILER_OUT: "\u{FFFD}")
  end

  it "explains what a JIT means for the stacks" do
    jit = facts[:jits].find { |fact| fact[:name] == "YJIT" }
    skip "this Ruby has no YJIT" unless jit[:available]
    json = facts(env: { "RUBYOPT" => "--yjit" })
    expect(json[:jits].first).to eq(name: "YJIT", available: true, enabled: true)
    expect(json).to include(ok: true)
    anywhere = (RUBY_VERSION.split(".").map(&:to_i) <=> [3, 3]) >= 0
    expect(json[:walking][:anywhere]).to eq anywhere
    expect(json[:engine][:chosen]).to anywhere ? match(/\A(perf|ticker|thread_timer)\z/) : eq("safepoint")
    expect(json[:warnings]).to anywhere ? eq([]) : include(/Ruby checks its interrupts/)
  end

  it "reports that the system refuses a timer for a thread, and which engine is left" do
    result = other_user_child("EXE", "doctor", limits: ["--sigpending=0"])
    expect(line(result.out, "thread_timer")).to start_with("! ").and include("not available: the system refused a timer", "ulimit -i")
    expect(line(result.out, "safepoint")).to start_with("! ").and include("ulimit -i")
    expect(line(result.out, "setitimer")).to match(/ available(, chosen)?\z/)
    # The last is chosen if the kernel ticks as finely as was requested, because then timers would have been used.
    expect(line(result.out, "engine")).to match(/engine +(perf|ticker|thread_timer|setitimer), the default/)
    expect(result.code).to eq 0 # on stderr Ruby may complain that it got no timer either
  end

  it "prints the same keys when the profiler does not work" do
    env = { "RUBYOPT" => "-W0 -r./spec/programs/refusals/other_engine" }
    json = facts(env: env)
    expect(json.keys).to eq keys
    expect(json).to include(ok: false, signal: nil, engines: [], cost: nil, problems: [/fastruby is not CRuby/])
    result = profiler_child("doctor", env: env)
    expect(line(result.out, "Ruby")).to start_with("x ").and end_with "not supported"
    expect([result.code, result.err]).to eq [1, ""]
  end

  it "can run in a profiled process, and leaves that profile unchanged" do
    recorded = profiler_child("record", "--quiet", "--out", in_box("it.pb.gz"), "--", RbConfig.ruby, Child::EXE, "doctor", "--json")
    expect(JSON.parse(recorded.out)).to include("ok" => true, "signal" => "us")
    expect([recorded.code, recorded.err]).to eq [0, ""]
    expect(functions("it.pb.gz")).to include(/burn/)
  end

  it "takes no argument" do
    result = profiler_child("doctor", "me")
    expect([result.code, result.out, result.err]).to match [2, "", /\Aprofiler: expected no arguments, got 1: me .*\n\z/]
  end

  it "is coloured only on a terminal, and not with NO_COLOR" do
    expect(profiler_child("doctor").out).not_to include "\e["
    expect(profiler_child("doctor", "--color").out).to include "\e[32mThis Ruby can"
    expect(on_terminal).to include "\e[32mThis Ruby can"
    expect(on_terminal("NO_COLOR" => "1")).to include("This Ruby can").and satisfy { |text| !text.include?("\e[") }
  end
end
