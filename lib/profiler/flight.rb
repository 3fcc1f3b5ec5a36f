# frozen_string_literal: true

require_relative "recording"
require_relative "recording/directory"
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

      # @api private
      # @see Profiler.flight_recorder
      def start(directory, limits, triggers, options)
        raise AlreadyRunning, "#{Continuous::Running::KINDS[:flight]} is running in this process: stop it first" if current

        @current&.stop # its thread was killed
        mine = @current = new(directory, limits, triggers)
        mine.start(options)
        started = mine
      ensure
        mine&.stop unless started
      end

      # Writes a file if the process ends as it should not.
      #
      # @param error [Exception, nil] the one that ends it
      # @api private
      def end_process(error)
        @current&.end_process(error)
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
      timeline = options.key?(:raw) ? {} : { timeline: true }
      @session = Continuous.start(self, @limits.part, timeline.merge(options), kind: :flight)
      @triggers.arm(self)
    end

    # Whether it runs in this process.
    def running? = @session&.running? ? true : false

    # The last minutes, up to now. A trap cannot call it.
    #
    # @return [Profile] with a timeline
    # @raise [NotRunning] if nothing was recorded yet
    def profile
      @session.flush
      merged({})
    end

    # Writes the last minutes, up to now. A trap cannot call it.
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
      @session ? @session.stop : true
    end

    # Has a file written soon, on the thread of the session. Requests that come before that are one. A trap may call it.
    #
    # @param reason [String] kept in the file's metadata as +saved+
    # @return [nil]
    # @api private
    def save_soon(reason)
      return if @stopped

      @wanted ||= reason
      @session.flush_soon
      nil
    end

    # Runs the block, a request, and has a file written if it took too long.
    #
    # @return what the block returns
    # @api private
    def time
      began = Continuous::Clock.now
      begin
        yield
      ensure
        took = Continuous::Clock.now - began
        save_soon(format("a request took %.2f s", took)) if took > @triggers.slower_than && claim?
      end
    end

    # @api private
    def end_process(error)
      error = nil if error.equal?(@inherited_error)
      reason = @triggers.end_reason(error) unless @stopped
      save_soon(reason) if reason
      begin
        @session&.stop if @wanted
      rescue SignalException
        retry # the process ends anyway, within the patience of the session
      end
      turned unless running? # its thread was killed before
    end

    # Keeps a part, on the thread of the session.
    #
    # @param part [Profile]
    # @api private
    def call(part)
      @parts.add(part.dump(:pprof))
      reason = @triggers.found(part, @limits.part)
      @wanted ||= reason if reason && claim?
    end

    # Writes the file that is wanted, if one is.
    #
    # @api private
    def turned
      reason = @wanted or return
      @wanted = nil
      store(merged("saved" => Native.clean(reason)))
      @saved += 1
    rescue NotRunning
      nil # there is nothing to save
    rescue *OWN_TROUBLE => e
      lose(e)
    end

    # Begins anew in a forked child. An exception that is being handled there is not the child's end.
    #
    # @api private
    def begin_child
      @inherited_error = $! # rubocop:disable Style/SpecialGlobalVars -- English would have to be loaded
      @parts = Parts.new(@limits)
      @saved = 0
      @wanted = @error = nil
    end

    def inspect
      "#<Profiler::Flight #{running? ? "running" : "over"}>"
    end

    private

    # Whether there is no file of the same minutes that was written for such a reason.
    def claim? = @parts.claim_save?(@limits.seconds)

    def merged(metadata)
      files = @parts.to_a
      raise NotRunning, "nothing was recorded yet" if files.empty?

      Native.in_turn(files, metadata)
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
