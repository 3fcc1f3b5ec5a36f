# frozen_string_literal: true

require_relative "../control/client"
require_relative "answer"
require_relative "progress"

module Profiler
  module CLI
    # Sessions in another process, for commands that are classes of {Command} with {Options}.
    module Remote
      private

      # Runs the block with a client of the process.
      #
      # @param process [String] a pid or the path of a socket
      # @raise [Failure]
      def with_client(process)
        client = Control::Client.of(process)
        yield client
      rescue Control::Client::Failed => e
        raise Failure, e.message
      ensure
        client&.close
      end

      # The one process that is named.
      def one_process(arguments)
        return arguments.first if arguments.size == 1

        raise UsageError, "one process is needed (profiler #{self.class::USAGE}); profiler ps lists them"
      end

      # Requests a profile, and writes it to these files.
      #
      # @param request [Hash]
      # @param paths [Array<String>]
      # @param format [String, nil] of all of them, in place of their extensions
      # @return [Profile]
      def receive(client, request, paths, format)
        outputs = paths.map { |path| [path, Output.new(path, format: format)] }
        _, bytes = client.ask(request)
        profile = Native.parse(bytes)
        outputs.each { |path, output| written(path) { output.write(profile) } }
        profile
      rescue ArgumentError => e
        raise UsageError, e.message
      end

      def written(path)
        yield
      rescue SystemCallError => e
        raise Failure, "cannot write #{path}: #{CLI.reason(e)}"
      end

      # Says on stderr what stands out, and where the files are.
      def say_answer(profile, paths)
        color = Color.enabled?(@color || "auto", $stderr)
        findings = Native.findings_text(short(profile), { width: columns($stderr), color: color })
        samples = Answer.taken(profile.stats)
        $stderr.puts(findings, paths.empty? ? "[profiler] #{samples}" : "[profiler] wrote #{paths.join(", ")} (#{samples})")
      rescue Errno::EPIPE
        nil # nobody listens
      end
    end
  end
end
