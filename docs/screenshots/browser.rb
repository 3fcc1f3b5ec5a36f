# frozen_string_literal: true

require "socket"

# Pictures of pages, by a Chromium without a window.
class Browser
  NAMES = %w[chromium chromium-browser google-chrome].freeze
  FLAGS = %w[--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
             --disable-sync --hide-scrollbars --use-angle=swiftshader --enable-unsafe-swiftshader --allow-file-access-from-files].freeze

  # @param home [String] a directory for what it keeps
  def initialize(home)
    @home = home
    @program = NAMES.find { |name| system("command -v #{name} > /dev/null") } || abort("screenshots: Chromium is missing: bin/setup --for-tests installs it")
  end

  # @param milliseconds [Integer] of the page's own time, before the picture is taken
  def shoot(url, png, width:, height:, milliseconds: 10_000)
    command = [@program, *FLAGS, "--user-data-dir=#{@home}/chromium", "--window-size=#{width},#{height}",
               "--virtual-time-budget=#{milliseconds}", "--screenshot=#{png}", url]
    system({ "HOME" => @home }, *command, err: File::NULL, out: File::NULL) && File.exist?(png) || abort("screenshots: no picture of #{url}")
  end
end

# Files of a directory, to a browser of this machine.
class Site
  TYPES = { ".html" => "text/html", ".js" => "text/javascript", ".css" => "text/css", ".svg" => "image/svg+xml", ".wasm" => "application/wasm",
            ".json" => "application/json" }.freeze

  attr_reader :address

  # @param files [Hash{String => String}] contents by path, in addition to those of the directory
  def initialize(directory, files = {})
    @directory = File.expand_path(directory)
    @files = files
    @server = TCPServer.new("127.0.0.1", 0)
    @address = "http://127.0.0.1:#{@server.addr[1]}"
    @thread = Thread.new { loop { Thread.new(@server.accept) { |client| answer(client) } } }
  end

  private

  def answer(client)
    path = client.gets.to_s.split[1].to_s[/\A[^?#]*/]
    nil until client.gets.to_s.strip.empty?
    type, body = found(path)
    client.write("HTTP/1.1 200 OK\r\nContent-Type: #{type}\r\nContent-Length: #{body.bytesize}\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n", body)
  rescue SystemCallError
    nil # it has gone
  ensure
    client.close
  end

  # Other paths are pages of the program, which its scripts generate.
  def found(path)
    return ["application/json", @files[path]] if @files.key?(path)

    file = File.expand_path(File.join(@directory, path))
    file = File.join(@directory, "index.html") unless file.start_with?("#{@directory}/") && File.file?(file)
    [TYPES.fetch(File.extname(file), "application/octet-stream"), File.binread(file)]
  end
end
