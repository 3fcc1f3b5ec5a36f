# frozen_string_literal: true

require "socket"
require_relative "../../support/server"
require_relative "../../support/tools"

RSpec.describe "Profiler::Middleware in development, without permit: and token:" do
  include_context "with a program"
  include_context "with a box"
  include Server
  include Tools

  let(:prelude) { <<~'RUBY' }
    $stderr = STDOUT
    RESULTS = []
    BODY = ["x"].freeze
    HEADERS = { "a" => "b" }.freeze
    LOCAL = { "REQUEST_METHOD" => "GET", "QUERY_STRING" => "profile=cpu", "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost:9292",
              "SERVER_PROTOCOL" => "HTTP/1.1" }.freeze
    def middleware = Profiler::Middleware.new(->(env) { [200, HEADERS, BODY] }, out: ->(it) { RESULTS << it })
    # Whether it returns a profile; where it does not, the response has to be the app's own objects.
    def profiled?(env)
      RESULTS.clear
      silently = $stderr
      $stderr = File.open(IO::NULL, "w")
      response = middleware.call(LOCAL.merge(env))
      untouched = response.zip([200, HEADERS, BODY]).all? { |got, gave| got.equal?(gave) }
      raise "a denied response was changed: #{response}" unless untouched ^ (RESULTS.size == 1)
      RESULTS.size == 1
    ensure
      $stderr = silently
    end
    # Returns the values that result in a profile.
    def profiled(name, values) = values.select { |it| profiled?(name => it) }
  RUBY

  it "profiles requests that come straight from this machine, by whatever name it is called" do
    addresses = ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "::FFFF:127.0.0.1"]
    hosts = [nil, "localhost", "LOCALHOST:3000", "shop.localhost:3000", "shop.test", "127.0.0.1:1", "[::1]:9292", "0.0.0.0:3000"]
    expect(run_json(<<~RUBY, env: { "RACK_ENV" => "development", "RAILS_ENV" => nil })).to eq([addresses, hosts])
      print_json([profiled("REMOTE_ADDR", #{addresses.inspect}), profiled("HTTP_HOST", #{hosts.inspect})])
    RUBY
  end

  it "profiles nothing for other addresses and names, through a proxy, or in another environment" do
    profiled, tried = run_json(<<~RUBY, env: { "RACK_ENV" => "development", "RAILS_ENV" => nil })
      tried = {
        "REMOTE_ADDR" => [nil, "", "192.0.2.1", "10.0.0.1", "128.0.0.1", "1.127.0.0.1", "127.0.0.1.example.org", "127.0.0.1, 192.0.2.1", "127.0.0.1\\n192.0.2.1", "::2",
                          "::ffff:192.0.2.1", "fe80::1", "unix:", "localhost"],
        "HTTP_HOST" => ["example.org", "localhost.example.org", "127.0.0.1.example.org", "127.example.org", "xlocalhost", "localhost, example.org", "192.0.2.1", "",
                        "localhost\\nexample.org"],
        "SERVER_PROTOCOL" => ["HTTP/1.0"], "HTTP_VERSION" => ["HTTP/1.0", "HTTP/1.0, HTTP/1.1"]
      }
      proxies = %w[X_FORWARDED_FOR X_FORWARDED_HOST X_FORWARDED_PROTO FORWARDED X_REAL_IP X_CLIENT_IP TRUE_CLIENT_IP CF_CONNECTING_IP VIA X_ORIGINAL_HOST]
      proxies.each { |name| tried["HTTP_\#{name}"] = ["127.0.0.1", "", "localhost"] }
      profiled = tried.flat_map { |name, values| profiled(name, values).map { |it| [name, it] } }
      profiled += %w[RAILS_ENV APP_ENV HANAMI_ENV].select { |name| ENV[name] = "production"; profiled?({}).tap { ENV.delete(name) } }
      plain = profiled?({})
      module Rails
        def self.env = Struct.new(:development?).new(false)
      end
      print_json([profiled, [tried.size, plain, profiled?({})]])
    RUBY
    expect(profiled).to eq([])
    expect(tried).to eq([14, true, false])
  end

  it "says once on stderr why a request was not profiled" do
    expect(run(<<~RUBY, env: { "RACK_ENV" => "development", "RAILS_ENV" => nil })).to eq(<<~TEXT)
      app = middleware
      2.times { app.call(LOCAL.merge("REMOTE_ADDR" => "192.0.2.1\\e[2J\\n" + "x" * 100)) }
    RUBY
      [profiler] a request from "192.0.2.1\\e[2J\\n#{"x" * 46}" was refused a profile: without permit: and token: only development allows profiles, and only to direct requests from this machine
    TEXT
  end

  # The address of this machine that others reach it by.
  def outward
    Socket.ip_address_list.find { |it| it.ipv4? && !it.ipv4_loopback? }&.ip_address || skip("this machine has no address but its own")
  end

  def result_of(socket, host: "localhost", version: "1.1", headers: "")
    socket.write("GET /?profile=cpu HTTP/#{version}\r\nHost: #{host}\r\n#{headers}Connection: close\r\n\r\n")
    head, body = socket.read.split("\r\n\r\n", 2)
    expect(body).to eq("served")
    head.match?(/^x-profiler/i)
  ensure
    socket.close
  end

  it "is not misled by Puma, which is in development by default" do
    need "puma"
    script(<<~RUBY, name: "config.ru")
      $LOAD_PATH.unshift(#{Child::LIB.inspect})
      require "profiler"
      use Profiler::Middleware, out: #{in_box("out").inspect}
      run ->(env) { [200, { "content-type" => "text/plain" }, ["served"]] }
    RUBY
    address = outward
    # The path of a Unix socket has to be short.
    Dir.mktmpdir("puma") do |directory|
      unix = File.join(directory, "s")
      log = serving("puma", "-b", "tcp://0.0.0.0:PORT", "-b", "unix://#{unix}", "config.ru", env: { "RACK_ENV" => nil, "RAILS_ENV" => nil }, chdir: box) do |port|
        expect(result_of(TCPSocket.new(address, port), host: address)).to be(false)
        expect(result_of(TCPSocket.new(address, port))).to be(false)
        expect(result_of(UNIXSocket.new(unix))).to be(false)
        # The request of an nginx that is configured with nothing but the address.
        expect(result_of(TCPSocket.new("127.0.0.1", port), version: "1.0")).to be(false)
        expect(result_of(TCPSocket.new("127.0.0.1", port), version: "1.0", headers: "Version: HTTP/1.1\r\n")).to be(false)
        expect(result_of(TCPSocket.new("127.0.0.1", port), headers: "X-Forwarded-For: 127.0.0.1\r\n")).to be(false)
        expect(Dir.exist?(in_box("out"))).to be(false)
        expect(result_of(TCPSocket.new("127.0.0.1", port))).to be(true)
        expect(Dir.children(in_box("out")).size).to eq(1)
      end
      expect(log).to match(/\* +Environment: development$/)
    end
  end
end
