# frozen_string_literal: true

require "socket"

RSpec.describe "Profiler::Pprof.listen" do
  include_context "with a box"
  include_context "with a program"

  let(:prelude) { require_program("pprof/listener") }

  it "requires a token or a permit on TCP, and a token if other machines can connect" do
    errors = run_json(<<~'RUBY')
      wrong = [["127.0.0.1:0", {}], ["localhost:0", {}], ["[::1]:0", {}], ["0.0.0.0:0", { permit: ->(_env) { true } }], ["[::]:0", { permit: ->(_env) { true } }],
               ["127.0.0.1:0", { token: "short" }], ["127.0.0.1", { token: TOKEN }], [":6060", { token: TOKEN }], ["127.0.0.1:99999", { token: TOKEN }],
               [6060, { token: TOKEN }], ["", { token: TOKEN }], ["no such socket", {}], ["127.0.0.1:0", { token: TOKEN, concurrency: 0 }], ["/nowhere/at/all.sock", {}]]
      print_json([wrong.map { |address, options| error { Profiler::Pprof.listen(address, **options) } }, own_threads])
    RUBY
    expect(errors[0][0]).to eq("ArgumentError: address: 127.0.0.1:0 needs token: or permit:, because every user of this machine can connect")
    expect(errors[0][3]).to eq("ArgumentError: address: 0.0.0.0:0 is not a loopback address, so it needs token:")
    expect(errors[0].take(13)).to all(match(/\A(ArgumentError|SocketError|Socket::ResolutionError): /))
    expect(errors[0].last).to start_with("Errno::ENOENT: ")
    expect(errors[1]).to eq(0)
  end

  it "answers requests, and metrics where Prometheus expects them" do
    result = run_json(<<~'RUBY')
      listener = listen
      port = listener.address
      whole = get(port, "/debug/pprof/threads")
      file = get(port, "/debug/pprof/profile?seconds=1").b
      statuses = ["/metrics", "/debug/pprof/metrics", "/debug/pprof", "/debug/pprof/", "/debug/pprof/nothing", "/", "/profile"].map { |it| status(get(port, it)) }
      unpermitted = ["/metrics", "/nothing", "/debug/pprof/", "/debug/pprof/metrics"].map { |it| send_raw(port, head(it)) }
      lengths = get(port, "/metrics", method: "HEAD").split("\r\n\r\n", -1)
      again = error { Profiler::Pprof.listen(port, token: TOKEN) }
      listener.close
      wait_for { own_threads.zero? }
      print_json(address: port, whole: whole, packed: file.split("\r\n\r\n", 2)[1].start_with?("\x1f\x8b".b), head: file.split("\r\n\r\n", 2)[0], statuses: statuses,
                 unpermitted: unpermitted, body_of_head: lengths.drop(1), post: status(get(port = listen.address, "/metrics", method: "POST")), again: again[/\A\S+:/],
                 closed: [listener.running?, error { get(listener.address, "/metrics") }[/\A\S+:/], own_threads, sessions])
    RUBY
    expect(result[:whole]).to start_with("HTTP/1.1 200 OK\r\n").and include("connection: close\r\n").and include("main [").and include("(of the profiler)")
    expect(result[:head]).to include("content-type: application/octet-stream").and include("content-length: ")
    expect(result).to include(packed: true, statuses: [200, 200, 200, 200, 404, 404, 404], body_of_head: [""], post: 405, again: "Errno::EADDRINUSE:")
    unknown = result[:unpermitted].zip(["/metrics", "/nothing", "/debug/pprof/", "/debug/pprof/metrics"]).map { |text, path| text.sub(path, "PATH").sub(/content-length: \d+/, "") }
    expect(unknown.uniq.size).to eq(1)
    expect(result[:closed]).to eq([false, "Errno::ECONNREFUSED:", 1, 0]) # the thread of the second one
  end

  it "permits by permit:, which reads the request as Rack has it" do
    statuses = run_json(<<~'RUBY', err: start_with("[profiler] a request for a profile was refused, because a page of another site"))
      seen = []
      port = listen(token: nil, permit: ->(env) { seen << env.slice("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "REMOTE_ADDR", "rack.url_scheme", "HTTP_X_A"); env["HTTP_X_A"] == "1, 2" }).address
      statuses = [["X-A: 1", "X-a: 2"], ["X-A: 1"]].map { |lines| status(get(port, "/metrics?a=b", *lines)) }
      statuses << status(send_raw(port, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\nX-A: 1, 2\r\n\r\n"))
      print_json([statuses, seen.first])
    RUBY
    expect(statuses[0]).to eq([200, 404, 404])
    expect(statuses[1].values).to eq(["GET", "/debug/pprof/metrics", "a=b", "127.0.0.1", "http", "1, 2"])
  end

  it "withstands requests that are none" do
    hostile = run_json(<<~'RUBY')
      port = listen.address
      line = "Authorization: Bearer #{TOKEN}\r\n"
      bytes = ["\x16\x03\x01\x02\x00\x01\x00", "\0" * 100, "nothing\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics HTTP/2.0\r\n\r\n", "GET metrics HTTP/1.1\r\n\r\n",
               "GET http://localhost/metrics HTTP/1.1\r\n\r\n", "GET /metr\0ics HTTP/1.1\r\n\r\n", "GET /\xff HTTP/1.1\r\n\r\n", "GET /metrics HTTP/1.1\r\nno header\r\n\r\n",
               "GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /metrics HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "GET /metrics HTTP/1.1\r\nA\0: b\r\n\r\n",
               "GET /metrics HTTP/1.1\r\nA: b\0c\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "#{"A" * 30} / HTTP/1.1\r\n\r\n"]
      long = ["GET /#{"a" * 9_000} HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n#{"A: b\r\n" * 3_000}\r\n", "GET / HTTP/1.1\r\nA: #{"a" * 100_000}"]
      fine = ["\r\nGET /metrics HTTP/1.0\r\n#{line}\r\n", "GET /metrics HTTP/1.1\n#{line.delete("\r")}\n", "GET /metrics HTTP/1.1\r\n#{line}Content-Length: 5\r\n\r\nhello",
              "GET /metrics HTTP/1.1\r\n#{line}\r\nGET /metrics HTTP/1.1\r\n\r\n"]
      in_pieces = connect(port)
      head("/metrics", line.chomp).each_char { |it| in_pieces.write(it) }
      print_json(bad: bytes.map { |it| status(send_raw(port, it)) }, long: long.map { |it| status(send_raw(port, it)) }, fine: fine.map { |it| status(send_raw(port, it)) },
                 pieces: status(in_pieces.read), closed: (connect(port).close), after: status(get(port, "/metrics")))
    RUBY
    expect(hostile[:bad]).to eq([400] * 17)
    expect(hostile[:long] - [431, "reset"]).to eq([])
    expect(hostile).to include(fine: [200] * 4, pieces: 200, after: 200)
  end

  it "serves a quick client beside a hundred slow ones, without holding up the app", :timed do
    result = program_json("pprof/slow_clients", timeout: 120)
    expect(result).to include(quick: [200] * 10, threads: be <= 2, left: [1, 0], took: be < 3, late: be < 100, took_all: be < 30)
    expect(result[:answers] - [408, 503, "reset"]).to eq([])
    expect([200, 503]).to include(result[:last])
  end

  it "records for a bounded number at once, and ends with a client that goes away" do
    result = run_json(<<~'RUBY')
      port = listen(concurrency: 2).address
      recording = Array.new(2) { connect(port).tap { |it| it.write(head("/debug/pprof/profile?seconds=60", "Authorization: Bearer #{TOKEN}")) } }
      wait_for { sessions == 2 }
      full = get(port, "/debug/pprof/wall?seconds=1")
      others = %w[/metrics /debug/pprof/threads].map { |it| status(get(port, it)) }
      recording.each(&:close)
      wait_for { sessions.zero? && own_threads == 1 }
      print_json(full: [status(full), full[/retry-after: (\d+)/, 1].to_i.between?(1, 60)], others: others, left: [sessions, own_threads])
    RUBY
    expect(result).to eq(full: [503, true], others: [200, 200], left: [0, 1])
  end

  it "continues after stray exceptions, and reports that its thread was killed" do
    said = /\A(\[profiler\] a request for a profile failed: RuntimeError: stray\n)?\[profiler\] no longer listening on 127\.0\.0\.1:\d+, because the thread was killed\n\z/
    result = run_json(<<~'RUBY', err: match(said))
      listener = listen
      thread = Thread.list.grep(Profiler.const_get(:BackgroundThread)).first
      statuses = Array.new(5) { thread.raise("stray"); status(get(listener.address, "/metrics")) }
      thread.kill.join
      print_json([statuses, listener.running?, error { get(listener.address, "/metrics") }[/\A\S+:/]])
    RUBY
    expect(result).to eq([[200] * 5, false, "Errno::ECONNREFUSED:"])
  end

  it "has a Unix socket that only its owner can use, and replaces none but a stale one" do
    path = in_box("pprof.sock")
    result = program_json("pprof/unix_socket", path)
    expect(result).to eq(stale: true, mode: "140600", answered: 200, used: "Errno::EADDRINUSE: Address already in use - #{path}", children: ["pprof.sock"], address: path,
                         file: "Errno::EEXIST: File exists - #{path}", link: "Errno::EEXIST: File exists - #{path}", long: "ArgumentError", token: [404, 200])
    expect(files).to eq([])
  end

  ends = { "the end" => "", "exit!" => "exit!", "an exception" => "raise Interrupt", "SIGTERM" => "Process.kill(:TERM, $$); sleep 5", "exec" => "exec('true')" }
  ends.each do |name, code|
    it "removes its socket at #{name}" do
      ruby_child("-e", "require 'profiler'; Profiler::Pprof.listen(#{in_box("a.sock").dump}); puts File.socket?(#{in_box("a.sock").dump}); $stdout.flush; #{code}")
        .then { |it| expect(it.out).to eq("true\n") }
      expect(files).to eq([])
    end
  end

  it "listens again when exec fails" do
    expect(run_json(<<~RUBY)).to eq(["Errno::ENOENT: No such file or directory - no_such_program", 200])
      listener = listen(#{in_box("a.sock").dump}, token: nil)
      print_json([error { exec("no_such_program") }, status(get(listener.address, "/metrics"))])
    RUBY
  end

  it "does not listen in a forked child, unless the path has its pid" do
    result = run_json(<<~RUBY)
      tcp = listen
      one, each = listen(#{in_box("one.sock").dump}, token: nil), listen(#{in_box("each-%p.sock").dump}, token: nil)
      in_child = in_fork do
        own = [tcp, one, each].map(&:running?)
        again = listen
        [own, each.address == "#{in_box("each-")}\#{Process.pid}.sock", status(get(each.address, "/metrics")), status(get(again.address, "/metrics"))]
      end
      again = [tcp, one, each].map { |it| [it.running?, status(get(it.address, "/metrics"))] }
      # The parent ends, and nobody holds its port.
      print_json([in_child, again, Dir.children(#{box.dump}).sort == ["each-\#{Process.pid}.sock", "one.sock"]])
    RUBY
    expect(result).to eq([[[false, false, true], true, 200, 200], [[true, 200]] * 3, true])
    expect(files).to eq([])
  end

  it "releases its port with the process, though a child lives on" do
    result = run_json(<<~'RUBY')
      reader, writer = IO.pipe
      pid = fork do
        port = listen.address
        connect(port).write("GET /debug") # a connection that the child below has too
        sleep 0.1
        fork { reader.close; $stdout.close; sleep 5 }
        writer << port
        writer.close
      end
      writer.close
      port = reader.readpartial(200)
      Process.wait(pid)
      print_json([error { connect(port) }[/\A\S+:/]])
    RUBY
    expect(result).to eq(["Errno::ECONNREFUSED:"])
  end

  it "goes on listening in a daemon" do
    path = in_box("daemon.sock")
    run(<<~RUBY)
      listen(#{path.dump}, token: nil)
      client = connect(#{path.dump}).tap { |it| it.write(head("/debug/pprof/profile?seconds=60")) }
      wait_for { sessions == 1 }
      Process.daemon(true)
      # The threads that recorded for it were the parent's.
      File.write(#{in_box("left").dump}, [client.read, sessions].inspect)
      sleep 20
    RUBY
    expect(wait_until { files.include?("left") && File.read(in_box("left"))[/.+/] }).to eq('["", 0]')
    socket = UNIXSocket.new(path)
    socket.write("GET /debug/pprof/threads HTTP/1.1\r\nHost: a\r\n\r\n")
    text = socket.read
    expect(text).to start_with("HTTP/1.1 200 OK")
    Process.kill(:TERM, text[/process (\d+)/, 1].to_i)
    wait_until { files == ["left"] }
  end

  it "takes nothing from an app that closed all descriptors" do
    result = run_json(<<~'RUBY', err: match(/\A\[profiler\] no longer listening on \S+, because the app closed its socket\n\z/))
      listener = listen
      half = connect(listener.address)
      half.write("GET /metrics HTTP/1.1\r\n")
      sleep 0.2
      3.upto(255) { |number| IO.for_fd(number).close rescue nil }
      pairs = Array.new(8) { Socket.pair(:UNIX, :STREAM) }
      servers = Array.new(8) { TCPServer.new("127.0.0.1", 0) }
      clients = servers.map { |it| TCPSocket.new("127.0.0.1", it.addr[1]) }
      pairs.each { |_, it| it.write("x") }
      connect(listener.address) rescue nil
      wait_for { !listener.running? }
      print_json(servers: servers.count { |it| it.accept_nonblock(exception: false).is_a?(TCPSocket) },
                 read: pairs.map { |it, _| it.read_nonblock(9, exception: false) }, running: listener.running?)
    RUBY
    expect(result).to eq(servers: 8, read: ["x"] * 8, running: false)
  end
end
