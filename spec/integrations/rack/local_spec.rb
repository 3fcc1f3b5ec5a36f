# frozen_string_literal: true

require "socket"
require_relative "../../support/server"
require_relative "../../support/tools"

RSpec.describe "Profiler::Middleware in development, without permit: and token:" do
  include_context "with a program"
  include_context "with a box"
  include Server
  include Tools

  let(:prelude) { require_program("rack/local") }

  it "profiles requests that come straight from this machine, by whatever name it is called" do
    addresses = ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "::FFFF:127.0.0.1"]
    hosts = [nil, "localhost", "LOCALHOST:3000", "shop.localhost:3000", "shop.test", "127.0.0.1:1", "[::1]:9292", "0.0.0.0:3000"]
    expect(run_json(<<~RUBY, env: { "RACK_ENV" => "development", "RAILS_ENV" => nil })).to eq([addresses, hosts])
      print_json([profiled("REMOTE_ADDR", #{addresses.inspect}), profiled("HTTP_HOST", #{hosts.inspect})])
    RUBY
  end

  it "profiles nothing for other addresses and names, through a proxy, or in another environment" do
    profiled, tried = program_json("rack/not_local", env: { "RACK_ENV" => "development", "RAILS_ENV" => nil })
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
