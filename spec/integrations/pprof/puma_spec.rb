# frozen_string_literal: true

require_relative "../../support/server"
require_relative "../../support/tools"

RSpec.describe "Profiler::Pprof in Puma" do
  include_context "with a box"
  include Server
  include Tools

  let(:token) { "a token that nobody guesses" }
  let(:bearer) { { "Authorization" => "Bearer #{token}" } }

  def puma(*options, **env, &block)
    need "puma"
    env = env.transform_keys(&:to_s).merge("RACK_ENV" => "production")
    serving("puma", "-q", "-t", "8:8", "-b", "tcp://127.0.0.1:PORT", *options, File.join(__dir__, "apps/hog.ru"), env: env, &block)
  end

  # The bytes of a response as they come, without its date.
  def raw(port, path)
    TCPSocket.open("127.0.0.1", port) do |socket|
      socket.write("GET #{path} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n")
      socket.read
    end
  end

  def profile(bytes)
    File.binwrite(in_box("got.pb.gz"), bytes)
    report("got.pb.gz")
  end

  def sessions(port) = ask(port, "/debug/pprof/metrics", bearer).body[/^profiler_sessions (\d+)$/, 1]

  it "answers go tool pprof and another scraper at once, each with its own profile", :timed do
    need "go"
    puma(PERMIT: "1") do |port|
      before = [Integer(ask(port, "/ready").body), monotonic]
      go = Thread.new do
        command_child("go", "tool", "pprof", "-top", "-seconds", "2", "http://127.0.0.1:#{port}/debug/pprof/profile", env: { "PPROF_TMPDIR" => box }, timeout: 120)
      end
      responses = Array.new(2) { Thread.new { ask(port, "/debug/pprof/profile?seconds=2") } }.map(&:value)
      top = go.value
      after = [Integer(ask(port, "/ready").body), monotonic]
      expect(top.status).to be_success, top.err
      flat = top.out[/^ *([\d.]+)(ms|s) +[\d.]+% +[\d.]+% +[\d.]+(?:ms|s) +[\d.]+% +Hog\.burn/, 1]
      expect(flat).not_to be_nil, top.out
      responses.each do |it|
        expect(it.to_hash.slice("content-type", "content-disposition", "x-content-type-options", "content-encoding"))
          .to eq("content-type" => ["application/octet-stream"], "content-disposition" => ['attachment; filename="profile"'], "x-content-type-options" => ["nosniff"])
        found = profile(it.body)
        total = found[:stats][:cpu_ns]
        hog = found[:top].select { |row| row[:name] == "Hog.burn" }.sum { |row| row[:total] }
        expect(found[:stats][:duration_ns]).to be_between(1_900_000_000, 12_000_000_000)
        expect(total).to be_between(200_000_000, after[0] - before[0])
        expect(hog).to be_between(total * 0.8, total)
      end
    end
  end

  it "answers go tool pprof that shows its pages" do
    need "go"
    puma(PERMIT: "1") do |port|
      pages = free_port
      command = ["go", "tool", "pprof", "-no_browser", "-http=127.0.0.1:#{pages}", "http://127.0.0.1:#{port}/debug/pprof/profile?seconds=1"]
      pid = Process.spawn({ "PPROF_TMPDIR" => box }, *command, pgroup: true, %i[out err] => File::NULL)
      begin
        wait_until(60) { answers?(pages, "/ui/top") }
        expect(ask(pages, "/ui/top").body).to include("Hog.burn")
        expect(ask(pages, "/ui/flamegraph").body).to include("Hog.burn")
      ensure
        Process.kill(:KILL, -pid)
        Process.wait(pid)
      end
    end
  end

  it "answers about the wall clock and allocated objects", :timed do
    puma(TOKEN: token) do |port|
      wall, allocs = ["wall?seconds=1", "allocs?seconds=1"].map { |it| Thread.new { ask(port, "/debug/pprof/#{it}", bearer) } }.map(&:value)
      expect(wall["content-disposition"]).to eq('attachment; filename="wall"')
      expect(profile(wall.body)[:top].map { |row| row[:name] }).to include("Hog.burn")
      expect(profile(allocs.body)[:stats]).to include(objects: be_positive)
    end
  end

  it "answers nobody else, with the bytes of an unknown path" do
    puma(TOKEN: token, MIDDLEWARE: "1") do |port|
      ["", "/", "/profile", "/profile?seconds=1", "/heap", "/memory", "/threads", "/metrics", "/nothing"].each do |path|
        expect(raw(port, "/debug/pprof#{path}")).to eq(raw(port, "/other/paths#{path}").sub("/other/paths", "/debug/pprof"))
        expect(raw(port, "/inside#{path}")).to eq(raw(port, "/beside#{path}").sub("/beside", "/inside"))
      end
      expect(raw(port, "/debug/pprof/profile")).to start_with("HTTP/1.1 404 Not Found\r\n")
      expect(ask(port, "/inside/metrics", bearer).body).to include("profiler_sessions 0\n")
      expect(ask(port, "/insides/metrics", bearer).code).to eq("404")
      expect(ask(port, "/debug/pprof/", bearer).body).to include('<a href="profile">')
      expect(ask(port, "/inside", bearer).body).to include('<a href="inside/profile">')
    end
  end

  it "refuses more than it may record at once, and says when to come again", :timed do
    puma(TOKEN: token, CONCURRENCY: "2") do |port|
      recording = Array.new(2) { Thread.new { ask(port, "/debug/pprof/profile?seconds=5", bearer) } }
      wait_until { sessions(port) == "2" }
      refused = ask(port, "/debug/pprof/wall?seconds=1", bearer)
      expect([refused.code, refused["x-go-pprof"], refused.body]).to eq(["503", "1", "2 profiles are being recorded already\n"])
      expect(refused["retry-after"].to_i).to be_between(1, 5)
      expect(recording.map { |it| it.value.code }).to eq(%w[200 200])
      expect(ask(port, "/debug/pprof/profile?seconds=1", bearer).code).to eq("200")
    end
  end

  it "ends the session of a client that goes away, and of none in a forked child" do
    puma(TOKEN: token) do |port|
      socket = TCPSocket.open("127.0.0.1", port)
      socket.write("GET /debug/pprof/profile?seconds=60 HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer #{token}\r\n\r\n")
      wait_until { sessions(port) == "1" }
      expect(ask(port, "/fork").body).to eq("0")
      expect(sessions(port)).to eq("1")
      socket.close
      wait_until { sessions(port) == "0" }
    end
  end
end
