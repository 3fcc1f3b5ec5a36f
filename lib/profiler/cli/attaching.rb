# frozen_string_literal: true

require_relative "../control/client"

module Profiler
  module CLI
    # The option +--attach+, for commands that ask a running process.
    module Attaching
      private

      def attach_option(parser)
        parser.on("--attach", "attach to the process first, if it has no control socket (experimental)") { @attach = true }
      end

      # Returns the client of a process. Attaches to the process before, if that is requested.
      #
      # @param process [String] a pid or the path of a socket
      # @return [Control::Client]
      # @raise [Control::Client::Failed, Failure]
      def client_of(process)
        Control::Client.of(process)
      rescue Control::Client::Failed
        raise if !@attach || !process.match?(/\A[1-9]\d{0,9}\z/)

        joined = join(Integer(process, 10))
        CLI.complain("attached to process #{process} in #{milliseconds(joined.seconds)}; to detach: profiler detach #{process}")
        Control::Client.of(process)
      end

      # @param pid [Integer]
      # @return [Profiler::Attach::Joined]
      # @raise [Failure]
      def join(pid, **options)
        load_profiler
        require_relative "../attach"
        Profiler::Attach.join(pid, **options)
      rescue Profiler::Attach::Refused => e
        raise Failure, e.message
      end

      def milliseconds(seconds) = seconds < 10 ? "#{(seconds * 1_000).round} ms" : "#{seconds.round} s"
    end
  end
end
