# frozen_string_literal: true

require "json"
require "socket"
require "timeout"
require "profiler"
require "profiler/control/client"

# Readers of what comes from sockets, which anybody may send.
RSpec.describe "Readers of sockets" do
  include_context "with a box"

  let(:seed) { (ENV["FUZZ_SEED"] || Random.new_seed).to_i % (1 << 32) }
  let(:random) { Random.new(seed) }

  # A text with some of its bytes changed, cut, repeated or moved.
  def damaged(text)
    bytes = text.b
    random.rand(0..4).times do
      at = random.rand(bytes.bytesize + 1)
      case random.rand(5)
      when 0 then bytes[at, 1] = random.bytes(1)
      when 1 then bytes = bytes[0, at]
      when 2 then bytes.insert(at, random.bytes(random.rand(1..40)))
      when 3 then bytes.insert(at, bytes[at, random.rand(1..60)].to_s * random.rand(1..50))
      else bytes = bytes.reverse
      end
      bytes = +"" if bytes.empty?
    end
    bytes.b
  end

  it "take any answer of a control socket for an answer or a failure" do
    answers = ['{"pid":1,"program":"x","ruby":"3.1","threads":1,"sessions":0}' "\n", "{\"bytes\":10}\n0123456789", '{"error":"no"}' "\n", '{"sessions":[{"session":1}]}' "\n", '{"session":1,"bytes":3}' "\nabc"]
    path = in_box("1.sock")
    sent = Queue.new
    server = UNIXServer.new(path)
    serving = Thread.new do
      loop do
        client = server.accept
        client.gets
        client.write(sent.pop)
        client.close
      rescue SystemCallError
        nil
      end
    end
    kinds = Array.new(1_500) do
      sent << damaged(answers.sample(random: random))
      client = Profiler::Control::Client.new(path)
      answer = client.ask({ do: %w[who dump sessions start stop].sample(random: random) }, 5)
      expect([answer[0].class, answer[1].class]).to eq([Hash, String])
      :answer
    rescue Profiler::Control::Client::Failed => e
      expect(e.message).to satisfy("be a line of text, with seed #{seed}") { |it| it.valid_encoding? && it.bytesize < 5_000 }
      :failure
    ensure
      client&.close
    end
    expect(kinds.uniq).to match_array(%i[answer failure])
  ensure
    serving&.kill
    server&.close
  end

  it "take any head of a request for one, for a part of one, or for none" do
    heads = ["GET /debug/pprof/profile?seconds=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n", "POST / HTTP/1.0\n\n", "\r\nHEAD /metrics HTTP/1.1\r\nA: b\r\nA: c\r\n\r\n"]
    found = Array.new(5_000) do
      head = Profiler::Pprof::Head.new
      bytes = damaged(heads.sample(random: random))
      states = bytes.scan(/.{1,#{random.rand(1..60)}}/mn).map { |piece| head.add(piece) }
      state = states.find { |it| it != :partial } || :partial
      expect(%i[complete partial too_long invalid]).to include(state), "seed #{seed}"
      env = head.env if states.last == :complete
      expect(env.keys).to include("REQUEST_METHOD", "PATH_INFO") if env
      [state, env ? :env : nil]
    end
    expect(found.map(&:first).uniq).to include(:complete, :partial, :invalid)
    expect(found.map(&:last).uniq).to match_array([nil, :env])
  end
end
