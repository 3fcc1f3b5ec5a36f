# frozen_string_literal: true

module Profiler
  class Middleware
    # Wraps the body of a response and profiles it to its end. It responds as the app's body does.
    class Body
      # @param body the app's
      # @param recording [Recording]
      # @yield once, after all of the body was sent
      def initialize(body, recording, &finish)
        @body = body
        @recording = recording
        @finish = finish
      end

      def each(&block)
        @recording.inside { @body.each(&block) }
      end

      def read(...)
        @recording.inside { @body.read(...) }
      end

      def gets(...)
        @recording.inside { @body.gets(...) }
      end

      def close
        @recording.inside { @body.close } if @body.respond_to?(:close)
      ensure
        @finish.call unless @pending
      end

      # Closes the body as well, as Rack requires. If the body is not an Array, Rails returns an Enumerator; then the work is
      # still to be done.
      def to_ary
        parts = @recording.inside { @body.to_ary }
        @pending = parts.is_a?(Enumerator)
        @pending ? finish_after(parts) : parts
      ensure
        @finish.call unless @pending
      end

      # Passes the stream to the body, which may hand it to other code that closes it later.
      def call(stream)
        @recording.inside { @body.call(stream) }
        Hijack.until_closed(stream, &@finish)
      rescue Exception # rubocop:disable Lint/RescueException -- it is raised again
        @finish.call
        raise
      end

      def respond_to?(name, include_all = false)
        # Some apps define it with one argument.
        name.to_sym == :close || (include_all ? @body.respond_to?(name, true) : @body.respond_to?(name))
      end

      def respond_to_missing?(name, include_all = false) = respond_to?(name, include_all)

      def method_missing(name, ...)
        @body.respond_to?(name) ? @body.public_send(name, ...) : super
      end

      private

      # Ends the recording after the first pass. A second pass, for example by Rack::ETag and then the server, repeats the same
      # work.
      def finish_after(parts)
        Enumerator.new do |out|
          @recording.inside { parts.each { |it| out << it } }
        ensure
          @finish.call
        end
      end
    end
  end
end
