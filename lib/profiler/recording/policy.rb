# frozen_string_literal: true

require_relative "../process/callback"
require_relative "../recording"
require_relative "deadlines"
require_relative "limits"
require_relative "rate_limit"
require_relative "session_per_request"
require_relative "slice_per_request"

module Profiler
  class Recording
    # Raised for work that is not profiled; the message says why.
    class Refused < Error; end

    # The rules of a middleware for Rack, Sidekiq or Active Job: which work is profiled, within which limits, and where the
    # results go.
    class Policy
      # The number of concurrent pieces of work that are observed for being slow.
      WATCHED = 256
      ALWAYS_ON_INTERVAL = 10_000
      # The time in seconds to wait for a profile that is being written, and the pause between checks.
      PATIENCE = 1.0
      PAUSE = 0.01
      # The modes that measure time. They are the default, because work can also be slow by waiting.
      MODES = %i[cpu wall].freeze
      private_constant :WATCHED, :ALWAYS_ON_INTERVAL, :PATIENCE, :PAUSE, :MODES

      attr_reader :duration
      # The open recordings, and the places that they take.
      #
      # @api private
      attr_reader :deadlines, :limits
      # Called with each {Recording} that is kept. Returns three Hashes: labels that are expensive to find, those of them that
      # the samples had before these were known, and metadata.
      attr_accessor :describer

      # @param options [Hash] valid options of {Profiler.start}, without modes
      # @return [Symbol, Array<Symbol>] only CPU time if the wall clock cannot be measured; one line then says why
      # @api private
      def self.default_modes(options)
        Session.check(**options, mode: MODES)
        MODES
      rescue ArgumentError, Unsupported => e
        Losses.warn("requests and jobs are profiled by CPU time alone: #{e.message}") unless @warned
        @warned = true
        :cpu
      end

      # @param mode [Symbol, Array<Symbol>, nil] as for {Profiler.run}; see {default_modes}
      # @param interval [Integer, nil] microseconds: by default 1,000, and 10,000 for +slower_than+
      # @param sample_rate [Numeric] share of all work that is profiled, 0 to 1
      # @param slower_than [Numeric, nil] seconds; all work is profiled, and only slower profiles are kept
      # @param out [String, Pathname, #call, #store] a directory, or an object that is called with each {Result} or stores it
      # @param format [String] of files in a directory
      # @param keep [Integer] files in a directory; the oldest are removed
      # @param concurrency [Integer] concurrent profiles, except those for +slower_than+
      # @param rate [Integer] profiles per minute
      # @param duration [Numeric] seconds, after which a profile ends and is kept
      # @param options [Hash] other options of {Profiler.start}
      def initialize(mode: nil, interval: nil, sample_rate: 0, slower_than: nil, out: File.join("tmp", "profiler"), format: "pb.gz", keep: 100,
                     concurrency: 8, rate: 60, duration: 60, **options)
        sample_rate = number("sample_rate", sample_rate, 0..1)
        slower_than = number("slower_than", slower_than, 0..) if slower_than
        { "concurrency" => concurrency, "rate" => rate }.each { |name, value| AnyObject.integer(name, value) }
        duration = number("duration", duration, 0.01..)
        @mode = mode || :cpu
        @interval = interval
        @sample_rate = sample_rate
        @samples = sample_rate.positive?
        @slower_than = slower_than
        @duration = duration
        @options = options
        @store = store_for(out, format, keep)
        @limits = Limits.new(concurrency, rate)
        @kept = RateLimit.new(rate)
        @deadlines = Deadlines.new(duration) { @watch.nil? || @watch.rest? }
        @forking = Mutex.new
        @pid = Process.pid
        @random = Random.new # the app's own must continue as if we were not there
        @losses = Losses.new("a profile was lost")
        @describer = ->(_recording) { [{}, {}, {}] }
        if defined?(Session)
          Session.check(**session_options(nil).except(:threads))
          @mode = Policy.default_modes(session_options(nil).except(:threads)) unless mode
        end
        @on_demand = SessionPerRequest.new(session_options(nil))
        @watch = watch_with(session_options(ALWAYS_ON_INTERVAL)) if @slower_than && defined?(Session)
      end

      # Starts a requested recording.
      #
      # @param requested [Hash] requested options, in place of those of the policy
      # @param recordings [Array, nil] see {guarded}
      def on_demand(requested = {}, recordings = nil)
        begin_limited(:requested, requested, recordings)
      rescue ArgumentError, Unsupported => e
        raise Refused, e.message
      end

      # Starts a recording of work that did not request one, if it is sampled or may be slow. If no session can start, the work
      # runs without one, and one line says why.
      #
      # @param recordings [Array, nil] see {guarded}
      def by_chance(recordings = nil)
        start_over unless @pid == Process.pid
        if @samples && @random.rand < @sample_rate
          begin_limited(:sampled, {}, recordings)
        elsif @watch && @deadlines.size < WATCHED
          begin_one(:slow, @watch, recordings)
        end
      rescue Refused
        nil # and the next one will do
      rescue *RESCUED_ERRORS => e
        @losses.add(e)
      end

      # Runs the block, which starts recordings and ends each one or hands it over. If an exception (such as that of Timeout)
      # prevents this, the recording is abandoned.
      #
      # @yieldparam recordings [Array<Recording>] those that began: for {by_chance} and {on_demand}
      # @return what the block returns
      def guarded
        recordings = []
        yield recordings
      ensure
        recordings&.each { |recording| recording.discard unless recording.handed_over? }
      end

      # Returns whether only requested work is profiled.
      def idle? = !@slower_than && !@samples

      # Returns a new name for a recording in the store.
      #
      # @api private
      def new_id
        AnyObject.can?(@store, :new_id) ? @store.new_id : Random.urandom(8).unpack1("H*")
      end

      # @api private
      def keeps?(recording, seconds)
        recording.reason != :slow || (seconds >= @slower_than && @kept.allow?)
      end

      # @api private
      def slow?(seconds) = @slower_than && seconds >= @slower_than

      # @api private
      def store(result)
        Directory === @store ? store_in_directory(result) : Callback.call(@losses) { store_elsewhere(result) }
      end

      # @param name [String, nil] an id; nil: the newest
      # @return [Profile, nil] nil if it does not exist, or the store cannot fetch
      # @api private
      def fetch(name)
        return unless AnyObject.can?(@store, :fetch)

        # The last profile may still be on its way: a response is sent before its profile is written.
        (PATIENCE / PAUSE).round.times do
          break unless @limits.any?

          profile = @store.fetch(name) if name
          return profile if profile

          Clock.sleep(PAUSE)
        end
        @store.fetch(name)
      end

      # Returns the names of all kept profiles, the newest first.
      #
      # @return [Array<String>, nil] nil if the store cannot list
      # @api private
      def list
        @store.list if AnyObject.can?(@store, :list) && AnyObject.can?(@store, :fetch)
      end

      # Fetches a profile as {fetch} does, without waiting for one that is being stored.
      #
      # @param name [String]
      # @return [Profile, nil]
      # @api private
      def read(name) = @store.fetch(name)

      # Runs the block and reports the profiler's own errors, each kind once, so that the app continues. Other exceptions came
      # from outside, and propagate.
      def quietly
        yield
      rescue *RESCUED_ERRORS => e
        @losses.add(e)
      end

      private

      # Stores a result in a directory. No callback of the app runs here, so an exception from another thread, such as a
      # time-out, ends the wait for a disk at once.
      def store_in_directory(result)
        result.location = @store.store(result)
        stored = result
      rescue *RESCUED_ERRORS => e
        @losses.add(e)
      ensure
        @losses.add(Error.new("the request was interrupted while it was stored")) unless stored || e
      end

      def store_elsewhere(result)
        AnyObject.can?(@store, :store) ? result.location = @store.store(result) : @store.call(result)
        result
      end

      def begin_limited(reason, requested, recordings)
        start_over unless @pid == Process.pid
        begin_one(reason, @on_demand.with(requested), recordings) do |recording|
          why = Platform.unsupported_reason || @limits.enter(recording)
          raise Refused, why if why
        end
      end

      # @param source [SessionPerRequest, SlicePerRequest]
      # @yield [Recording] before it starts
      def begin_one(reason, source, recordings)
        recording = Recording.new(self, reason)
        recordings&.push(recording)
        begin
          yield recording if block_given?
          recording.start(source) { @deadlines.add(recording) }
          started = recording
        ensure
          unless started
            recording.discard
            source.end_if_unused # nobody else may
          end
        end
      end

      # Returns the object that starts the recordings.
      def watch_with(options) = (SlicePerRequest.fits?(options) ? SlicePerRequest : SessionPerRequest).new(options)

      # Forgets the parent's recordings in a forked child.
      def start_over
        @forking.synchronize do
          next if @pid == Process.pid

          [@limits, @kept, @deadlines].each(&:start_over)
          @random = Random.new # or all workers would draw the same numbers
          @pid = Process.pid
        end
      end

      # @param default [Integer, nil] the interval without an option
      def session_options(default)
        timed = AnyObject.list(@mode).any? { |it| MODES.include?(it) }
        { mode: @mode, interval: (@interval || default if timed), threads: :current, spans: true, **@options }.compact
      end

      def store_for(out, format, keep)
        case out
        when String, ->(it) { AnyObject.can?(it, :to_path) } then Directory.new(out, format: format, keep: keep)
        when ->(it) { AnyObject.can?(it, :call) || AnyObject.can?(it, :store) } then out
        else raise ArgumentError, "out: #{AnyObject.text(out)} is not a destination (allowed: a directory, an object with call or store)"
        end
      end

      def number(name, value, allowed)
        what = "a number#{allowed.end ? " from #{allowed.begin} to #{allowed.end}" : " of #{allowed.begin} or more"}"
        AnyObject.number(name, value, what) { |number| allowed.cover?(number) }
      end
    end
  end
end
