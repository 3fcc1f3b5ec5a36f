# frozen_string_literal: true

require_relative "../control/client"
require_relative "command"
require_relative "remote"

module Profiler
  module CLI
    # +profiler memory PID+: where the memory of a process is.
    class Memory < Command
      include Remote

      SUMMARY = "Shows where the memory of a process is, and what to do about it."
      USAGE = "memory [options] PID | LEDGER.json | PROFILE"
      EXAMPLES = <<~TEXT
        profiler memory 4711
        profiler memory --owners 4711
        profiler memory --owners --json 4711 > before.json
        profiler memory --owners --since before.json 4711
        profiler memory --why Session 4711
        profiler memory profile.pb.gz

        Without --owners, the process is not stopped. With it, the process collects garbage and is copied, and the copy finds the
        owner of each malloc block: a class, a library, or nobody (a leak in C code). profiler ps lists the processes. A profile
        of profiler record --memory has the ledger of the end.
      TEXT

      def initialize
        super
        @owners = @force = @json = false
        @why = @max_pause = nil
      end

      private

      def define(parser)
        parser.on("--owners", "find the owners of malloc's memory, in a copy of the process") { @owners = true }
        parser.on("--since LEDGER", "show what changed since a ledger that --json printed") { |path| @since = path }
        parser.on("--force", "copy the process even if it is large, or near its memory limit") { @force = true }
        parser.on("--why CLASS", "as --owners, and show why the objects of CLASS are alive ('*': those that retain most)") { |name| @why = name }
        parser.on("--max-pause SECONDS", "find no owners if the process would stand still for longer") { |text| @max_pause = Float(text, exception: false) || text }
        attach_option(parser)
        parser.on("--json", "print JSON; sizes are bytes, times nanoseconds") { @json = true }
      end

      def call(arguments)
        expected(arguments, 1, "one PID or one file", PS_HINT)

        load_profiler
        before = read(@since) if @since
        ledger = File.file?(arguments.first) ? read(arguments.first) : ask(arguments.first)
        print_it(before ? ledger.since(before) : ledger)
        0
      end

      def ask(process)
        with_client(process) do |client|
          _, bytes = client.ask(do: "memory", owners: @owners, force: @force, why: @why, max_pause: @max_pause)
          ledger_in(bytes, client.path)
        end
      end

      def read(path)
        bytes = Input.read(path)
        bytes.start_with?("{") ? ledger_in(bytes, path) : ledger_of_profile(bytes, path)
      rescue SystemCallError => e
        raise Failure, "cannot read #{path}: #{CLI.reason(e)}"
      rescue FormatError => e
        raise Failure, e.message # a device without an end
      end

      # Returns the ledger of the largest process in a profile.
      def ledger_of_profile(bytes, path)
        Native.parse(bytes).ledgers.max_by(&:rss) or raise Failure, "#{path}: no ledger of memory is in this profile; profiler record --memory keeps one"
      rescue FormatError, ArgumentError => e
        raise Failure, "#{path}: #{e.message}"
      end

      def ledger_in(bytes, path)
        Ledger.parse(bytes.dup.force_encoding(Encoding::UTF_8).scrub("?"))
      rescue ArgumentError => e
        raise Failure, "#{path}: #{e.message}"
      end

      # Prints a result without harmful characters, as it is from another process.
      def print_it(result) = puts(@json ? harmless(result.to_json) : Control::Client.harmless(result.to_s))
    end
  end
end
