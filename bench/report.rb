# frozen_string_literal: true

require "etc"
require "fileutils"
require "zlib"

# Writes markdown: facts of the machine, then tables. It is printed, and kept in tmp/bench.
module Bench
  class Report
    DIRECTORY = ENV.fetch("BENCH_OUT", File.join(ROOT, "tmp", "bench"))

    def initialize(name, title, clock: "CPU time of the process, all threads")
      @name = name
      @clock = clock
      @load_before = load_average
      @lines = ["# #{title}", ""]
    end

    def text(line)
      @lines.push(line, "")
    end

    def table(header, rows)
      lines = [header, header.map { "---" }, *rows].map { |cells| "| #{cells.join(" | ")} |" }
      @lines.push(*lines, "")
    end

    def publish
      @lines.insert(2, *facts, "")
      FileUtils.mkdir_p(DIRECTORY)
      File.write(File.join(DIRECTORY, "#{@name}.md"), @lines.join("\n"))
      puts @lines
    end

    private

    def facts
      ["- #{RUBY_DESCRIPTION}",
       "- #{Etc.nprocessors} x #{read("/proc/cpuinfo")[/^model name\s*: (.*)/, 1] || "unknown CPU"}, #{Etc.uname[:sysname]} #{Etc.uname[:release]}, HZ=#{hz}",
       "- load #{@load_before} before, #{load_average} after; #{Time.now.utc.strftime("%F %R")} UTC",
       "- `#{%w[BENCH_SECONDS BENCH_PAIRS BENCH_INTERVAL BENCH_ROWS].filter_map { |name| "#{name}=#{ENV[name]} " if ENV[name] }.join}rake bench:#{@name}`; " \
       "#{@clock}; intervals are 95 %"]
    end

    def load_average
      read("/proc/loadavg").split.first(2).join(" / ")
    end

    def hz
      config = File.exist?("/proc/config.gz") ? Zlib::GzipReader.open("/proc/config.gz", &:read) : read("/boot/config-#{Etc.uname[:release]}")
      config[/^CONFIG_HZ=(\d+)/, 1] || "unknown"
    end

    def read(path)
      File.read(path)
    rescue SystemCallError
      ""
    end
  end
end
