# frozen_string_literal: true

require "fileutils"
require "tmpdir"

require_relative "../control/client"
require_relative "answer"
require_relative "attaching"
require_relative "progress"

module Profiler
  module CLI
    # Sessions in another process, for commands that are classes of {Command} with {Options}.
    module Remote
      include Attaching

      private

      # Runs the block with a client of the process.
      #
      # @param process [String] a pid or the path of a socket
      # @raise [Failure]
      def with_client(process)
        client = client_of(process)
        yield client
      rescue Control::Client::Failed => e
        raise Failure, e.message
      ensure
        client&.close
      end

      # Returns the process that is named; exactly one is allowed.
      def one_process(arguments) = expected(arguments, 1, "one PID", Command::PS_HINT).first

      # Requests a profile, and writes it to these files. A session that is stopped for it keeps its profile until it is
      # written. A block returns an answer that needs no request.
      #
      # @param request [Hash]
      # @param paths [Array<String>]
      # @param format [String, nil] of all of them, in place of their extensions
      # @return [Profile]
      def receive(client, request, paths, format)
        paths.each { |path| Output.new(path, format: format) } unless block_given? # before the process is asked
        head, bytes = block_given? ? yield : client.ask({ **request, keep: true })
        profile = Native.parse(bytes)
        paths.each do |path|
          Output.new(path, format: format).write(profile)
        rescue SystemCallError => e
          raise Failure, "cannot write #{path}: #{CLI.reason(e)}#{whereabouts(request, head["session"]) { saved_elsewhere(profile, File.basename(path), format) }}"
        end
        forget(client, head["session"]) if request[:do] == "stop"
        profile
      rescue ArgumentError => e
        raise UsageError, e.message
      rescue FormatError => e
        raise Failure, "the answer from #{client.path} cannot be read: #{e.message}"
      end

      # Says where the profile is that could not be written. A process that has ended keeps none, so it goes into another directory.
      def whereabouts(request, session)
        return "; the process keeps the profile (profiler stop --session #{session} -o FILE PID)" if request[:do] == "stop" && session.is_a?(Integer)
        return unless request.empty?

        "; the process has ended, so the profile is in #{yield}"
      end

      def saved_elsewhere(profile, name, format)
        directory = Dir.mktmpdir("profiler-")
        elsewhere = File.join(directory, name)
        Output.new(elsewhere, format: format).write(profile)
        elsewhere
      rescue SystemCallError, ArgumentError => e # the latter is that of Dir.tmpdir
        FileUtils.rm_rf(directory) if directory
        "no file: #{e.is_a?(SystemCallError) ? CLI.reason(e) : e.message}"
      end

      def forget(client, session)
        client.ask(do: "forget", session: session)
      rescue Control::Client::Failed
        nil # it has gone, or is of an older version
      end

      # Prints on stderr what stands out, and where the files are.
      def say_answer(profile, paths)
        color = Color.enabled?(@color || "auto", $stderr)
        findings = Native.findings_text(short(profile), { width: columns($stderr), color: color })
        samples = Answer.taken(profile)
        $stderr.puts(findings, paths.empty? ? "[profiler] #{samples}" : "[profiler] wrote #{paths.join(", ")} (#{samples})")
      rescue Errno::EPIPE
        nil # nobody listens
      end
    end
  end
end
