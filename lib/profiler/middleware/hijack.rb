# frozen_string_literal: true

module Profiler
  class Middleware
    # The app's replacement for the server's full hijack, which remembers whether the app used it. The request is over when the app
    # closes the connection.
    class Hijack
      # Extends the connection.
      module Closing
        def close(...)
          super
        ensure
          @profiler_at_close&.call
        end
      end

      # Runs the block when +io+ is closed; at once if it is closed, or if its end cannot be observed.
      def self.until_closed(io, &finish)
        return finish.call if io.nil? || (io.respond_to?(:closed?) && io.closed?)

        io.instance_variable_set(:@profiler_at_close, finish)
        io.extend(Closing)
      rescue FrozenError, TypeError
        finish.call
      end

      # @param server [#call] the server's
      # @param middleware [Middleware]
      # @param recording [Recording] to be finished at the end
      def initialize(server, middleware, recording)
        @server = server
        @middleware = middleware
        @recording = recording
      end

      def call
        @taken = true
        @server.call.tap { |io| Hijack.until_closed(io) { @middleware.finish(@recording, nil) } }
      end

      # As the server's, which is often a Proc or a Method.
      alias [] call

      def to_proc = method(:call).to_proc

      def taken? = @taken
    end
  end
end
