# frozen_string_literal: true

require "openssl"
require "socket"

RSpec.describe "Windows over TLS" do
  include_context "with a program"
  include_context "with a box"

  # A certificate of its own for localhost, valid for an hour.
  def certificate(key)
    OpenSSL::X509::Certificate.new.tap do |built|
      built.version = 2
      built.serial = 1
      built.subject = built.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
      built.public_key = key.public_key
      built.not_before, built.not_after = Time.now - 60, Time.now + 3_600
      extensions = OpenSSL::X509::ExtensionFactory.new(built, built)
      built.add_extension(extensions.create_extension("subjectAltName", "DNS:localhost"))
      built.add_extension(extensions.create_extension("basicConstraints", "CA:TRUE", true))
      built.sign(key, OpenSSL::Digest.new("SHA256"))
    end
  end

  # Yields the port of a server that answers 200 to everything, and the file of its certificate. Returns the number of requests.
  def serving_tls
    key = OpenSSL::PKey::RSA.new(2_048)
    context = OpenSSL::SSL::SSLContext.new
    context.key, context.cert = key, certificate(key)
    File.write(in_box("ca.pem"), context.cert.to_pem)
    tcp = TCPServer.new("127.0.0.1", 0)
    server = OpenSSL::SSL::SSLServer.new(tcp, context)
    answered = 0
    thread = Thread.new { loop { answered += 1 if answer(server) } }
    yield tcp.addr[1], in_box("ca.pem")
    answered
  ensure
    thread&.kill&.join
    tcp&.close
  end

  def answer(server)
    socket = server.accept
    head = +""
    until head.end_with?("\r\n\r\n")
      line = socket.gets or return # a client that sees another name ends here
      head << line
    end
    socket.read(head[/content-length: (\d+)/i, 1].to_i)
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
  rescue OpenSSL::SSL::SSLError, SystemCallError
    nil # a client that does not trust it
  ensure
    socket&.close
  end

  it "need a certificate that is trusted, for this name" do
    answered = serving_tls do |port, file|
      lost = run_json(<<~RUBY, err: include("certificate verify failed").and(include("hostname")))
        to = [Profiler::Otlp.new("https://localhost:#{port}"), Profiler::Otlp.new("https://127.0.0.1:#{port}", ca_file: "#{file}"),
              Profiler::Otlp.new("https://localhost:#{port}", ca_file: "#{file}")]
        session = Profiler.continuous(to: to, mode: :cpu, frequency: 1_000)
        burn
        session.stop
        print_json(to.map { |it| [it.delivered, it.lost] })
      RUBY
      expect(lost).to eq([[0, 1], [0, 1], [1, 0]])
    end
    expect(answered).to eq(1)
  end
end
