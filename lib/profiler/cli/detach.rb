# frozen_string_literal: true

require_relative "../control/client"
require_relative "command"

module Profiler
  module CLI
    # +profiler detach PID+: undoes +profiler attach+.
    class Detach < Command
      SUMMARY = "Detaches from a running process, after profiler attach."
      USAGE = "detach PID"
      EXAMPLES = <<~TEXT
        profiler detach 4711

        Sessions that were started over the socket are discarded. Nothing of the profiler runs or listens in the process
        afterwards; its code stays loaded. Children that the process has forked since have sockets of their own.
      TEXT
      # The seconds in which the process has to close its socket.
      PATIENCE = 10
      private_constant :PATIENCE

      private

      def call(arguments)
        process, = expected(arguments, 1, "one PID", PS_HINT)
        client = Control::Client.of(process, remedy: "nothing to detach from")
        client.ask(do: "detach")
        path = client.path
        client.close
        wait(path)
        puts "detached from process #{arguments.first}"
        0
      rescue Control::Client::Failed => e
        raise Failure, e.message
      end

      # Waits until the socket is closed, which is the last thing that the process does.
      def wait(path)
        till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
        while File.socket?(path)
          raise Failure, "the socket #{path} is still there after #{PATIENCE} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > till

          sleep 0.005
        end
      end
    end
  end
end
