# frozen_string_literal: true

module Profiler
  module CLI
    # The windows of a session in another process: profiles, each of the time since the one before.
    class Windows
      # The number of windows that are kept for writing.
      MAX_WINDOWS = 3_600
      private_constant :MAX_WINDOWS

      # A window.
      #
      # @!attribute profile
      #   @return [Profile] without the waits of idle threads
      # @!attribute seconds
      #   @return [Float] the length by the process's own clock: its answers come late if many threads want the GVL
      Window = Struct.new(:profile, :seconds)

      # The length of a window, in seconds.
      #
      # @return [Float]
      attr_reader :length

      # @param client [Control::Client]
      # @param session [Integer] its number
      # @param length [Float] seconds
      def initialize(client, session, length)
        @client = client
        @session = session
        @length = length
        @began = Clock.now
        @seen = []
      end

      # Waits until the window ends, and returns it.
      #
      # @return [Window]
      # @raise [Control::Client::Failed]
      def next
        sleep(left) if left.positive?
        take
      end

      # Returns the window so far and starts the next one.
      #
      # @return [Window]
      # @raise [Control::Client::Failed]
      def take
        _, bytes = @client.ask(do: "rotate", session: @session)
        @began = Clock.now
        profile = Native.parse(bytes)
        @seen.shift if @seen.size >= MAX_WINDOWS
        @seen << profile
        Window.new(profile.without_idle, profile.stats[:duration_ns] / 1e9)
      end

      # Returns the seconds until the window ends.
      #
      # @return [Float]
      def left = @began + @length - Clock.now

      # Returns all that was recorded so far.
      #
      # @return [Profile, nil]
      def seen
        @seen.size > 1 ? Profile.merge(*@seen) : @seen.first
      end
    end
  end
end
