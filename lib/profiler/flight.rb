# frozen_string_literal: true

require_relative "continuous"
require_relative "flight/limits"
require_relative "flight/parts"
require_relative "flight/triggers"

module Profiler
  # The last minutes of the process, in bounded memory. {Profiler.flight_recorder} starts it; {save} writes them, as do a signal,
  # a crash, SIGTERM, and requests, collections or waits that are too long.
  #
  # A forked child continues by itself, and has only its own minutes.
  class Flight
    class << self
      # The one that runs in this process.
      #
      # @return [Flight, nil]
      def current
        @current if @current&.running?
      end

      # Writes a file if the process ends as it should not.
      #
      # @param error [Exception, nil] the one that ends it
      # @api private
      def end_process(error)
        @current&.end_process(error)
      end

      # @api private
      # @see Profiler.flight_recorder
      def start(directory, minutes, memory, triggers, options)
        limits = Limits.new(minutes, memory)
        triggers.check(options[:mode] || Continuous::MODES)
        directory.prepare
        flight = new(directory, limits, triggers)
        flight.start(options)
        @current = flight
        triggers.arm(flight)
        flight
      end
    end

    # The number of files that it has written by itself in this process.
    #
    # @return [Integer]
    attr_reader :saved

    # The last error of a file that it wrote by itself.
    #
    # @return [Exception, nil]
    attr_reader :error

    # @api private
    def initialize(directory, limits, triggers)
      @directory = directory
      @limits = limits
      @triggers = triggers
      @parts = Parts.new(limits)
      @saved = 0
    end

    # @api private
    def start(options)
      @session = Continuous.start(method(:keep), @limits.part, { timeline: true }.merge(options), kind: :flight)
    end

    # Whether it runs in this process.
    def running? = @session.running?

    # The last minutes, up to now.
    #
    # @return [Profile] with a timeline
    # @raise [NotRunning] if nothing was recorded yet
    def profile
      @session.flush
      merged({})
    end

    # Writes the last minutes, up to now.
    #
    # @param path [String, nil] a file, whose extension selects the format; by default a new one in the directory
    # @return [String] the file
    # @raise [NotRunning] if nothing was recorded yet
    # @raise [ArgumentError, SystemCallError] if it cannot be written
    def save(path = nil)
      output = Output.new(path) if path
      @session.flush
      profile = merged("saved" => "requested")
      output ? output.write(profile) : store(profile)
    end

    # Ends the recorder. What it has can still be saved.
    #
    # @return [Boolean] false if the last part was not kept within {Continuous::PATIENCE}
    def stop
      @stopped = true
      @triggers.disarm(self)
      @session.stop
    end

    # Writes a file by itself: at most one for the same minutes. It never raises, and does not keep its caller waiting.
    #
    # @param reason [String] kept in the file's metadata as +saved+
    # @return [nil]
    # @api private
    def save_soon(reason)
      return unless @parts.claim_save?(@limits.seconds)

      thread = Thread.new do
        Thread.current.report_on_exception = false
        save_quietly(reason)
      end
      thread.name = "profiler flight file"
      nil
    rescue ThreadError => e
      lose(e)
    end

    # Runs the block, a request, and writes a file if it took too long.
    #
    # @return what the block returns
    # @api private
    def time
      began = Continuous::Clock.now
      yield
    ensure
      took = Continuous::Clock.now - began
      save_soon(format("a request took %.2f s", took)) if took > @triggers.slower_than
    end

    # @api private
    def end_process(error)
      reason = @triggers.end_reason(error) unless @stopped
      return unless reason

      @session.stop
      save_quietly(reason)
    end

    # Writes a file here.
    #
    # @api private
    def save_quietly(reason)
      @session.flush if running?
      store(merged("saved" => Native.clean(reason)))
      @saved += 1
    rescue NotRunning
      nil # there is nothing to save
    rescue *OWN_TROUBLE => e
      lose(e)
    end

    def inspect
      "#<Profiler::Flight #{running? ? "running" : "over"}>"
    end

    private

    # Keeps a part, on the thread of the session.
    def keep(profile)
      @parts.add(profile.dump(:pprof))
      @triggers.found(profile)&.then { |reason| save_soon(reason) }
    end

    def merged(metadata)
      profiles = @parts.to_a.map { |bytes| Native.parse(bytes) }
      raise NotRunning, "nothing was recorded yet" if profiles.empty?

      Native.in_turn(profiles, metadata)
    end

    def store(profile)
      @directory.store(Recording::Result.new(id: @directory.new_id, profile: profile))
    end

    # @return [nil]
    def lose(error)
      first = @error.nil?
      @error = error
      STDERR.puts("[profiler] a flight was not saved: #{error.message.lines.first.to_s.chomp}") if first
      nil
    rescue IOError, SystemCallError
      nil # stderr is closed
    end
  end
end
