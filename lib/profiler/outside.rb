# frozen_string_literal: true

require "etc"

require_relative "errors"
require_relative "outside/calls"
require_relative "process/user"

module Profiler
  # The kernel's view of a process and its threads. It works for any program, and asks the process nothing.
  #
  # @api private
  class Outside
    # Raised if there is no such process.
    class Gone < Error; end

    # A thread, with the letter of its state and its CPU time in seconds. +share+ is the part of a CPU that it used while it was
    # watched. +call+ is the system call that it is in, and +wait+ the place in the kernel.
    Seen = Struct.new(:tid, :name, :state, :cpu_s, :share, :call, :wait)

    # The seconds between two looks at the CPU time.
    INTERVAL = 0.25
    # The letters of the states, in words.
    STATES = { "R" => "runs", "S" => "waits", "D" => "waits for a device, and cannot be interrupted", "T" => "is stopped", "t" => "is stopped by a tracer",
               "Z" => "has ended, and its parent has not waited for it", "I" => "is idle", "X" => "has ended" }.freeze
    # The contents of a file of the kernel that says nothing.
    NOTHING = ["0", ""].freeze
    private_constant :INTERVAL, :STATES, :NOTHING, :CALLS, :CALLS_ON_FILES

    # @return [Integer]
    attr_reader :pid
    # @return [Array<Seen>] the busiest first
    attr_reader :threads

    # Looks at the process twice.
    #
    # @param pid [Integer]
    # @raise [Gone]
    def initialize(pid)
      @pid = pid
      before = ticks
      raise Gone, "there is no process #{pid}" if before.empty?

      began = now
      sleep INTERVAL
      after = ticks
      @seconds = now - began
      @threads = after.filter_map { |tid, last| thread(tid, last, before[tid]) }.sort_by { |it| [-it.share.to_f, it.tid] }
      raise Gone, "process #{pid} has ended" if @threads.empty?
    end

    # @return [Hash]
    def to_h
      { pid: pid, program: program, state: STATES[status[/^State:\s*(\S)/, 1]], user: ProcessUser.of(pid), rss_kb: status[/^VmRSS:\s*(\d+)/, 1]&.to_i,
        threads: threads.map { |it| it.to_h.merge(state: STATES.fetch(it.state, it.state)) } }
    end

    # @return [String] for people
    def to_s
      lines = ["Process #{pid}: #{program}", "As the kernel sees it, without Ruby's stacks.", ""]
      lines += threads.map { |it| line(it) }
      lines << "" << "The kernel does not say where its threads wait#{": run this as #{ProcessUser.and_root(pid)}" unless Process.euid.zero?}." if threads.none?(&:call)
      lines.join("\n")
    end

    private

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Returns the CPU time of all threads.
    #
    # @return [Hash{Integer => Array(String, Integer)}] the letter of the state and the ticks, by thread
    def ticks
      Dir.children("/proc/#{pid}/task").to_h { |tid| [Integer(tid), stat(tid)] }.compact
    rescue SystemCallError
      {}
    end

    def stat(tid)
      fields = File.read("/proc/#{pid}/task/#{tid}/stat", encoding: Encoding::BINARY).rpartition(")").last.split
      [fields[0], fields[11].to_i + fields[12].to_i]
    rescue SystemCallError
      nil
    end

    def thread(tid, last, before)
      return unless last

      state, ticks = last
      per_second = Etc.sysconf(Etc::SC_CLK_TCK).to_f
      share = ((ticks - before.last) / per_second / @seconds).round(2) if before
      Seen.new(tid, text(tid, "comm"), state, (ticks / per_second).round(2), share, call(tid), wait(tid))
    end

    # @return [String, nil] the name of the system call, with its descriptor; nil if the kernel does not say
    def call(tid)
      number, first, = text(tid, "syscall")&.split
      return if number.nil? || number == "running" || number == "-1"

      name = CALLS[Integer(number)] || "system call #{number}"
      CALLS_ON_FILES.include?(name) ? "#{name} of #{file(Integer(first, 16))}" : name
    end

    def file(number)
      "descriptor #{number} (#{File.readlink("/proc/#{pid}/fd/#{number}")})"
    rescue SystemCallError
      "descriptor #{number}"
    end

    def wait(tid)
      place = text(tid, "wchan")
      place unless NOTHING.include?(place.to_s)
    end

    def text(tid, name)
      File.read("/proc/#{pid}/task/#{tid}/#{name}", encoding: Encoding::BINARY).chomp.force_encoding(Encoding::UTF_8).scrub("?")
    rescue SystemCallError
      nil
    end

    def line(seen)
      what = STATES.fetch(seen.state, seen.state)
      what = "#{what} in #{seen.call}" if seen.call
      what = "#{what} (#{seen.wait})" if seen.wait
      share = ", now #{(seen.share * 100).round}% of a CPU" if seen.share&.positive?
      "thread #{seen.tid} #{seen.name.inspect}: #{what}; #{seen.cpu_s} s of CPU time#{share}"
    end

    def program
      line = File.binread("/proc/#{pid}/cmdline").tr("\0", " ").strip
      line = "[#{text(pid, "comm")}]" if line.empty?
      line.force_encoding(Encoding::UTF_8).scrub("?")
    rescue SystemCallError
      "?"
    end

    def status
      @status ||= File.read("/proc/#{pid}/status", encoding: Encoding::BINARY)
    rescue SystemCallError
      ""
    end
  end
end
