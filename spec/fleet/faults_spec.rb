# frozen_string_literal: true

require_relative "../support/pyroscope_server"

# Nothing that an engine does reaches the app, and each window is delivered once, or counted as lost.
RSpec.describe "Windows for an engine that fails" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("fleet/windows") }

  def cpu_profiles(server) = server.profiles.select { |profile| profile.labels["__name__"] == "process_cpu" }

  it "are sent again after errors that pass, once each" do
    PyroscopeServer.open(rate: nil) do |server|
      server.plan 503, 429, [429, { "Retry-After" => "0.1" }], 500, :cut_request, :cut_reply, 408, [:slow, 0.3], 502, nil
      result = run_json(<<~RUBY)
        session = send_to("#{server.url}")
        windows(5)
        wait_for { counts[:waiting].zero? }
        windows(1)
        print_json(stopped: session.stop, counts: counts)
      RUBY
      expect(result[:stopped]).to be(true)
      expect(result[:counts]).to include(lost: 0, waiting: 0, retried: 8)
      # A window that arrived, but whose reply did not, comes twice with one id.
      expect(server.profiles.map(&:id).uniq.size).to eq(server.profiles.size - (server.requests.count { |request| request.fault == :cut_reply }))
      expect(cpu_profiles(server).map(&:id).uniq.size).to eq(result[:counts][:delivered])
    end
  end

  it "are lost if the backend refuses them for good" do
    PyroscopeServer.open(rate: nil) do |server|
      server.plan 413, 400, 422, [301, { "Location" => "https://pyroscope.example/push" }], [302, { "Location" => "https://user:hush@pyroscope.example" }]
      said = include("HTTP 413").and(include('HTTP 301: it redirects to "https://pyroscope.example/push", which is not followed')).and(include("HTTP 302: it redirects to (not shown"))
      result = run_json(<<~RUBY, err: said)
        session = send_to("#{server.url}")
        windows(5)
        wait_for { counts[:waiting].zero? }
        before = counts
        windows(1)
        session.stop
        print_json(before: before, after: counts)
      RUBY
      expect(result[:before]).to include(lost: 5, delivered: 0, retried: 0)
      expect(result[:after]).to include(lost: 5)
      expect(cpu_profiles(server).size).to eq(result[:after][:delivered]).and be_positive
    end
  end

  it "wait for a server that is away, in bounded memory, and the oldest are dropped" do
    PyroscopeServer.open(rate: nil) do |server|
      result = server.refusing do
        run_json(<<~RUBY, err: include("a window for pyroscope was lost"))
          session = send_to("#{server.url}")
          windows(50)
          kept = counts
          took = now
          session.stop
          print_json(kept: kept, after: counts, took: (now - took) / 1e9)
        RUBY
      end
      expect(result[:kept][:waiting]).to eq(32)
      expect(result[:kept][:lost]).to be >= 8
      expect(result[:after]).to include(waiting: 0, delivered: 0)
      expect(result[:took]).to be < 3
    end
  end

  # The seconds from a program's call of +exit+ to its end.
  def delay_of_end(url, **options)
    code = "send_to('#{url}'); burn; $stdout << Process.clock_gettime(Process::CLOCK_MONOTONIC); $stdout.flush; exit"
    exited = Float(run(code, err: include("a window for pyroscope was lost"), **options))
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - exited
  end

  it "do not delay the end of a process for longer than its patience" do
    HttpServer.open do |server|
      server.always = ->(_request) { :hang }
      expect(delay_of_end(server.url)).to be_between(4.5, 9)
    end
  end

  it "do not delay it for a name server that does not answer either", :timed do
    expect(delay_of_end("http://slow.example:4040", env: Preloaded.env("slow_names"))).to be_between(4.5, 9)
  end

  it "are those of one process: a child that is forked in the middle of an upload sends its own only", :timed do
    PyroscopeServer.open(rate: nil) do |server|
      server.plan [:slow, 0.5], [:slow, 0.5], [:slow, 0.5]
      result = run_json(<<~RUBY)
        session = send_to("#{server.url}", labels: { pid: "parent" })
        windows(3)
        child = in_fork { burn; Profiler::Continuous.current.stop; counts }
        session.stop
        print_json(parent: counts, child: child)
      RUBY
      expect(result[:child]).to include(delivered: 1, lost: 0)
      expect(cpu_profiles(server).map(&:id).uniq.size).to eq(result[:parent][:delivered] + 1)
    end
  end

  it "continue when the sending thread is killed or gets an exception" do
    PyroscopeServer.open(rate: nil) do |server|
      server.always = ->(_request) { [:slow, 0.05] }
      result = run_json(<<~RUBY)
        session = send_to("#{server.url}")
        20.times do |number|
          windows(1)
          Thread.list.select { |it| it.name == "profiler pyroscope" }.each { |it| number.odd? ? it.kill : it.raise(ArgumentError, "stray") }
        end
        windows(1)
        wait_for { counts[:waiting].zero? }
        session.stop
        print_json(counts)
      RUBY
      expect(result).to include(lost: 0, waiting: 0)
      expect(cpu_profiles(server).map(&:id).uniq.size).to eq(result[:delivered])
    end
  end

  # As a gem does that makes the process a daemon. The number of our connection then belongs to the app.
  it "touch nothing of an app that closes all descriptors during an upload" do
    PyroscopeServer.open(rate: nil) do |server|
      server.plan [:slow, 1], [:slow, 1]
      result = program_json("fleet/closed_descriptors", env: { "URL" => server.url, "BOX" => box })
      expect(result).to include(read: ["mine"] * 4, back: ["wait_readable"] * 4, files: [1] * 4)
      expect(result[:counts]).to include(delivered: 2, lost: 0, waiting: 0).or include(delivered: 1, lost: 0, waiting: 0)
    end
  end

  # WebMock puts a stand-in there, which counts requests, and VCR records them.
  it "reach the engine, not what the tests of an app put in the place of Net::HTTP" do
    PyroscopeServer.open(rate: nil) do |server|
      code = "Net::HTTP = Class.new(Net.send(:remove_const, :HTTP)) { def request(*) = puts('a request') }; 1_000_000.times(&:to_s)"
      env = { "PROFILER_CONTINUOUS" => "1", "PROFILER_TO" => "pyroscope", "PYROSCOPE_SERVER_ADDRESS" => server.url }
      result = ruby_child("-rprofiler/autoload", "-e", code, env: env)
      expect([result.code, result.err, result.out]).to eq([0, "", ""])
      expect(cpu_profiles(server)).not_to be_empty
    end
  end

  it "reach the other sinks all the same, and a name that does not resolve is not an error of the app" do
    result = run_json(<<~'RUBY', err: include("a window for pyroscope was lost", "a profile was lost: RuntimeError: mine"))
      seen = []
      to = [->(_) { raise "mine" }, Profiler::Pyroscope.new("http://nowhere.invalid:4040", service: "shop"), ->(profile) { seen << profile }]
      session = Profiler.continuous(to: to, period: 60)
      burn
      session.flush
      burn
      session.stop
      print_json(seen: seen.size, lost: session.lost, each: session.sinks.map(&:delivered))
    RUBY
    expect(result).to eq(seen: 2, lost: 4, each: [0, 0, 2])
  end

  it "go on when names resolve again, and a disk has space again" do
    PyroscopeServer.open(rate: nil) do |server|
      env = Preloaded.env("no_names", "slow_disk").merge("NO_NAMES" => in_box("gone"), "SLOW_DISK" => "full", "SLOW_DISK_WHILE" => in_box("gone"))
                     .merge("PORT" => server.port.to_s, "DIRECTORY" => in_box("profiles"))
      result = program_json("fleet/outages", env: env, err: match(/\A\[profiler\] a profile was lost: Errno::ENOSPC: .*\n\z/))
      expect(result[:before]).to eq([{ delivered: 2, lost: 0, waiting: 0 }, { delivered: 2, lost: 0 }])
      expect(result[:without]).to eq([{ delivered: 2, lost: 0, waiting: 3 }, { delivered: 2, lost: 3 }])
      expect(result[:after]).to eq([{ delivered: 7, lost: 0, waiting: 0 }, { delivered: 4, lost: 3 }])
      expect(result[:stopped]).to be(true)
      expect(cpu_profiles(server).map(&:id).uniq.size).to be_between(7, 8)
      files = Dir.children(in_box("profiles"))
      expect(files).to all(end_with(".pb.gz")) # nothing unfinished stays
      expect(files.size).to be_between(4, 5)
    end
  end

  it "have the reason for which they wait as the error of the session, with the backend, until they are delivered" do
    { 503 => "/push.v1.PusherService/Push: HTTP 503", :cut_reply => /Error: http:.*Push: .*(EOFError|Errno::ECONNRESET)/ }.each do |answer, reason|
      PyroscopeServer.open(rate: nil) do |server|
        server.plan(*[answer] * 6)
        result = run_json(<<~RUBY)
          session = send_to("#{server.url}")
          errors = [session.error]
          windows(1)
          wait_for { counts[:retried].positive? }
          errors << session.error
          wait_for { counts[:waiting].zero? }
          errors << session.error
          session.stop
          print_json(errors: errors.map { |error| error && "\#{error.class}: \#{error}" }, lost: session.lost)
        RUBY
        expect(result).to match(errors: [nil, match(reason), nil], lost: 0)
      end
    end
  end

  it "are bounded in what they read from a backend, and counted once when it accepted them" do
    replies = {
      endless: ->(client) { client.write("HTTP/1.1 200 OK\r\n"); loop { client.write("x: #{"y" * 1_000}\r\n") } },
      slow: ->(client) { client.write("HTTP/1.1 200 OK\r\n"); loop { client.write("x: y\r\n"); sleep 0.05 } },
      informing: ->(client) { loop { client.write("HTTP/1.1 100 Continue\r\n\r\n") } },
      long_line: ->(client) { loop { client.write("x" * 1_000) } },
      gzip: ->(client) { client.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nno gzip !"); client.close },
      chunks: ->(client) { client.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n"); client.close },
      cut: ->(client) { client.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf"); client.close }
    }
    delivered = replies.transform_values do |reply|
      server = TCPServer.new("::1", 0)
      accepting = Thread.new do
        loop do
          client = server.accept
          length = client.gets("\r\n\r\n")[/content-length: (\d+)/i, 1].to_i
          client.read(length)
          reply.call(client)
        rescue SystemCallError
          client.close
        end
      end
      result = run_json(<<~RUBY)
        endpoint = Profiler.const_get(:Sinks)::Endpoint.new("http://[::1]:#{server.addr[1]}", timeout: 0.2)
        before = cpu_now
        reply = begin
          endpoint.post("x" * 1_000, "text/plain").to_s
        rescue StandardError => e
          e.class.name
        end
        print_json([reply, (cpu_now - before) / 1_000_000 < 1_000])
      RUBY
      accepting.kill
      server.close
      result
    end
    # Either bound may be met first on a busy machine: that of the bytes or that of the time.
    bounded = [match(/\ANet::(HTTPBadResponse|ReadTimeout)\z/), true]
    expect(delivered).to match(endless: bounded, slow: ["Net::ReadTimeout", true], informing: bounded, long_line: bounded, gzip: [start_with("HTTP 200"), true], chunks: [start_with("HTTP 200"), true], cut: [start_with("HTTP 200"), true])
  end

  it "print nothing of an answer that a terminal obeys", :timed do
    HttpServer.open do |server|
      server.always = ->(_request) { [400, {}, "\e[31m\a\u202Ered\u0085\r\n\x00\xFF end  "] }
      said = end_with("HTTP 400: ?[31m??red? ?? end\n").and(satisfy { |text| text.lines.one? })
      result = run_json(<<~RUBY, err: said)
        session = send_to("#{server.url}")
        windows(1)
        wait_for { session.lost == 1 }
        lost = session.lost
        session.stop # can lose another one
        print_json(lost)
      RUBY
      expect(result).to eq(1)
    end
  end

  it "leave the random numbers of the app as they are" do
    HttpServer.open do |server|
      server.always = ->(_request) { 503 }
      result = run_json(<<~RUBY, err: include("a window for pyroscope was lost"))
        srand(1)
        without = Array.new(4) { rand }
        srand(1)
        session = send_to("#{server.url}")
        with = [rand]
        windows(1)
        wait_for { counts[:retried].positive? }
        with << rand
        wait_for { counts[:retried] > 2 }
        with << rand
        session.stop
        print_json(without: without, with: with << rand)
      RUBY
      expect(result[:with]).to eq(result[:without])
    end
  end
end
