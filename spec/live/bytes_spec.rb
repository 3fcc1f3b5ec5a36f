# frozen_string_literal: true

require "fileutils"
require_relative "../support/live"

# For the system a name is bytes: that of a file, of a directory in /tmp that another user made, and of a process, which Linux cuts
# after 15 bytes.
RSpec.describe "Names that are not text" do
  include_context "with a live program"

  it "of files beside the socket neither keep it from opening nor from being found" do
    Dir.mkdir(control, 0o700)
    ["\xff.sock", "1\xff.sock"].each { |name| File.write("#{control}/#{name}".b, "") }
    live("ready; wait_for_end") do |pid|
      expect(profiler_of("ps")).to have_attributes(code: 0, out: /^ *#{pid} /)
      expect(profiler_of("dump", pid)).to have_attributes(code: 0, out: include("Process #{pid}"))
    end
  end

  it "of directories of other users do not keep root from its list", if: Process.euid.zero? do
    directory = "/tmp/profiler-\xff#{Process.pid}".b
    Dir.mkdir(directory, 0o700)
    live("ready; wait_for_end") { |pid| expect(profiler_of("ps")).to have_attributes(code: 0, out: /^ *#{pid} /) }
  ensure
    FileUtils.rmdir(directory)
  end

  it "of a process that has no socket do not matter where it is looked for and joined", if: RUBY_PLATFORM.include?("linux") do
    program = "#{box}/#{"\u00E4" * 9}" # the fifteenth byte is half of a character
    FileUtils.cp("/bin/sleep", program)
    pid = spawn(program, "60")
    wait_until { File.binread("/proc/#{pid}/comm").start_with?("\u00E4".b) }
    expect(File.read("/proc/#{pid}/comm", encoding: Encoding::UTF_8)).not_to be_valid_encoding
    expect(profiler_of("dump", pid)).to have_attributes(code: 1, err: /\Aprofiler: process #{pid} has no control socket here/)
    expect(profiler_of("attach", pid)).to have_attributes(code: 1, err: /\Aprofiler: process #{pid} .*not a Ruby|\Aprofiler: .*#{pid}/)
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  it "and numbers that JSON cannot have are shown as a question mark, of a process that says anything of itself" do
    Dir.mkdir(control, 0o700)
    numbers = '"threads":1,"age_s":1e400,"sessions":-1e400'
    servers = ["{\"pid\":11,\"program\":\"a\xffb\",\"ruby\":\"3.1\xff.2\",#{numbers}}", "{\"pid\":12,\"program\":\"c\",\"ruby\":\"r\",#{numbers}}"].map.with_index(11) do |answer, number|
      server = UNIXServer.new(socket_of(number))
      [server, Thread.new { loop { server.accept.tap { |client| client.gets && client.puts(answer) } } }]
    end
    table = profiler_of("ps")
    expect(table).to have_attributes(code: 0, err: "")
    expect(table.out.lines.map(&:split).drop(1).map { |row| row.values_at(0, 1, -1) }).to eq([%w[11 ? a?b], %w[12 ? c]])
    json = profiler_of("ps", "--json")
    expect(json).to have_attributes(code: 0, err: "")
    expect(JSON.parse(json.out).map { |row| row.values_at("pid", "program", "age_s") }).to eq([[11, "a?b", nil], [12, "c", nil]])
    %w[stop snapshot].each do |command|
      result = profiler_of(command, "-o", "#{box}/x.pb.gz", socket_of(12))
      expect(result).to have_attributes(code: 1, err: /\Aprofiler: the answer from #{socket_of(12)} cannot be read: .*\n\z/)
    end
  ensure
    servers&.flatten&.grep(Thread)&.each(&:kill)
  end
end
