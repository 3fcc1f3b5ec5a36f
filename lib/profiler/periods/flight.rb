# frozen_string_literal: true

require_relative "../store/directory"
require_relative "always"
require_relative "flight/parts"
require_relative "flight/triggers"
require_relative "periods"

module Profiler
  # A flight recorder: the last minutes of the process, in bounded memory. {Profiler.flight_recorder} starts it. {save} writes
  # the minutes, and so do a signal, a crash, SIGTERM, and requests, collections or waits that take too long.
  #
  # A forked child continues by itself, and has only its own minutes.
  class Flight < Always
    NAME = "a flight recorder"

    class << self
      # Returns the flight recorder that runs in this process.
      #
      # @return [Flight, nil]
      def current = Always.find(self)

      # @api private
      # @see Profiler.flight_recorder
      def start(...) = Always.claim(self) { new(...) }
    end

    # The number of files that the recorder has written by itself in this process.
    #
    # @return [Integer]
    attr_reader :saved

    # @api private
    def initialize(directory, parts, triggers, options)
      @directory = directory
      @parts = parts
      @triggers = triggers
      begin_account
      timeline = options.key?(:raw) ? {} : { timeline: true }
      @periods = Periods.new(self, "flight", parts.length, Periods.with_defaults(timeline.merge(options)))
    end

    # @api private
    def start
      super
      @triggers.arm(self)
    end

    # Returns the last minutes, up to now. A trap cannot call it.
    #
    # @return [Profile] with a timeline
    # @raise [NotRunning] if nothing was recorded yet
    def profile
      @periods.flush
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
      @periods.flush
      profile = merged("saved" => "requested")
      output ? output.write(profile) : @directory.write(profile)
    end

    # Ends the recorder. Its recorded minutes can still be saved.
    #
    # @return [Boolean] false if the last part was not kept within {Ends::PATIENCE}
    def stop
      @stopped = true
      @triggers.disarm(self)
      @periods.stop
    end

    # Requests a file, which the thread of the periods writes soon. Further requests until then are combined. A trap may call
    # it.
    #
    # @param reason [String] kept in the file's metadata as +saved+
    # @return [nil]
    # @api private
    def save_soon(reason)
      return if @stopped

      first = @wanted.nil?
      @wanted ||= reason
      @periods.flush_soon if first
      nil
    end

    # Runs the block, which handles a request, and requests a file if it took too long.
    #
    # @param env [Hash] of the request
    # @return what the block returns
    # @api private
    def time(env)
      began = Clock.now
      begin
        yield
      ensure
        took = Clock.now - began
        save_soon(format("a request took %.2f s", took)) if took > @triggers.slower_than && !env.key?(Middleware::WAITS) && @parts.claim_save?
      end
    end

    # Keeps a part.
    #
    # @param part [Profile]
    # @api private
    def take(part)
      @parts.add(part.dump(:pprof))
      reason = @triggers.found(part, @parts.length)
      @wanted ||= reason if reason && @parts.claim_save?
    end

    # Writes the requested file, if there is one.
    #
    # @api private
    def period_ended
      reason, @wanted = @wanted, nil
      write(reason) if reason
    end

    # @api private
    def process_ends(error, till)
      error = nil if error.equal?(@inherited_error)
      reason = @wanted || (@triggers.end_reason(error) unless @stopped)
      @wanted = nil # or the thread could write it before the last part is there
      return @periods.discard(till) unless reason

      @periods.finish(till)
      write(reason)
    end

    # Starts over in a forked child, unless that is this process. An exception that is being handled there is not the child's
    # end.
    #
    # @api private
    def forked(same)
      unless same
        @inherited_error = $! # rubocop:disable Style/SpecialGlobalVars -- English would have to be loaded
        @parts = @parts.of_child
        begin_account
      end
      @periods = @periods.in_child
    end

    private

    def merged(metadata)
      files = @parts.to_a
      raise NotRunning, "nothing was recorded yet" if files.empty?

      Native.concat(files, metadata)
    end

    def write(reason)
      @directory.write(merged("saved" => Native.clean(reason)))
      @saved += 1
    rescue NotRunning
      nil # there is nothing to save
    rescue *RESCUED_ERRORS => e
      lose(e)
    end

    def begin_account
      @saved = 0
      @wanted = nil
      @losses = Losses.new("a flight was not saved")
    end
  end
end
