# frozen_string_literal: true

require "json"
require_relative "../../support/server"
require_relative "../../support/tools"

RSpec.describe "Profiler::Middleware in Puma" do
  include_context "with a box"
  include Server
  include Tools

  # The time of a thread between the two readings of a clock, and of the reading itself.
  let(:slack_ns) { [100_000, RUBY_VERSION < "3.3" ? 2_000_000 : 100_000] } # of CPU, and of the wall clock, which is sampled there

  def puma(*options, **env, &block)
    need "puma"
    %w[out barrier].each { |name| Dir.mkdir(in_box(name)) } # here, as an example that is measured again begins without files
    env = env.transform_keys(&:to_s).merge("OUT" => in_box("out"), "BARRIER" => in_box("barrier"), "RACK_ENV" => "production")
    serving("puma", "-q", "-b", "tcp://127.0.0.1:PORT", *options, File.join(__dir__, "apps/requests.ru"), env: env, &block)
  end

  def profiles
    Dir[in_box("out/*.json")].map { |file| JSON.parse(File.read(file)) }
  end

  # Law 1: the CPU clock and the wall clock of a profile are those of its request.
  def expect_own_clocks(it)
    # A client that closes the connection during the request ends it there.
    it["profile"].zip(it["within"], it["around"] || it["within"].map { |ns| ns + 50_000_000 }, slack_ns).each do |sum, least, most, slack|
      expect(sum).to be_between(least - slack, most + slack), it.inspect
    end
  end

  it "profiles 8 of 32 requests at once, in a cluster under load, each by itself", :timed do
    need "wrk"
    puma("-w", "2", "-t", "20:20", AT_ONCE: "8") do |port|
      load = Thread.new { command_child("wrk", "-t1", "-c4", "-d4s", "http://127.0.0.1:#{port}/request/99") }
      responses = Array.new(32) do |number|
        Thread.new { [number, ask(port, "/request/#{number}", number % 4 == 0 ? { "X-Profile" => "mode=cpu,wall" } : {})] }
      end.map(&:value)
      expect(responses.map { |number, it| it.body == "done #{number}" }).to all(be(true))
      named = responses.select { |_number, it| it["x-profiler-result"] }
      expect(named.map(&:first)).to eq((0...32).step(4).to_a)
      expect(load.value.out).to match(/[1-9]\d* requests in/)
      expect(load.value.out).not_to include("Non-2xx")
    end
    expect(profiles.size).to eq(8)
    expect(profiles.map { |it| it["over"] - it["seconds"] }.max).to be < profiles.map { |it| it["over"] }.min # all at once
    expect(profiles.flat_map { |it| it["names"] }).to match_array((0...32).step(4).map { |number| "Shop.request_#{number}" })
    expect(profiles.map { |it| it["names"].size }).to all(eq(1))
    expect(profiles.map { |it| it["blamed"] }).to all(be(true))
    profiles.each { |it| expect_own_clocks(it) }
  end

  it "profiles streamed bodies and hijacked connections to their end", :timed do
    puma("-t", "2:2") do |port|
      ask = { "X-Profile" => "mode=cpu,wall" }
      expect(ask(port, "/parts/1", ask).body).to eq("part\n" * 3)
      expect(ask(port, "/hijack/2", ask).body).to eq("taken")
      expect(ask(port, "/fully/3", ask).body).to eq("fully")
      expect(ask(port, "/nothing", ask).code).to eq("404")
      expect(ask(port, "/raises", ask).code).to eq("500")
      wait_until { profiles.size == 5 }
    end
    by_name = profiles.group_by { |it| it["names"].first }
    expect(by_name.keys).to contain_exactly("Shop.request_1", "Shop.request_2", "Shop.request_3", nil)
    by_name.except(nil).each_value { |(it)| expect_own_clocks(it) }
    expect(by_name["Shop.request_1"][0]["profile"][0]).to be > 4 * 12_000_000
    expect(profiles.map { |it| it["labels"]["status"] }).to contain_exactly("200", "200", nil, "404", nil)
  end
end
