# frozen_string_literal: true

module Profiler
  class Middleware
    # Connections hijacked by the app. The request is over when the app closes them.
    module Hijack
      # Extends the connection.
      module Closing
        def close(...)
          super
        ensure
          @profiler_at_close&.call
        end
      end

      class << self
        # Wraps the server's full hijack, and remembers whether the app used it.
        #
        # @param env [Hash]
        # @yield when the connection is closed
        # @return [#taken?]
        def watch(env, &finish)
          server = env["rack.hijack"]
          return NONE unless server.respond_to?(:call)

          Full.new(server, finish).tap { |it| env["rack.hijack"] = it }
        end

        # Runs the block when +io+ is closed; at once if it is closed, or if its end cannot be observed.
        def until_closed(io, &finish)
          return finish.call if io.nil? || (io.respond_to?(:closed?) && io.closed?)

          io.instance_variable_set(:@profiler_at_close, finish)
          io.extend(Closing)
        rescue FrozenError, TypeError
          finish.call
        end
      end

      # The app's replacement for the server's hijack.
      class Full
        def initialize(server, finish)
          @server = server
          @finish = finish
        end

        def call
          @taken = true
          @server.call.tap { |io| Hijack.until_closed(io, &@finish) }
        end

        def taken? = @taken
      end

      NONE = Struct.new(:taken?).new(false)
      private_constant :NONE
    end
  end
end
