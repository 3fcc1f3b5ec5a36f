# frozen_string_literal: true

require "etc"

require_relative "errors"
require_relative "platform"
require_relative "version"

module Profiler
  # Examines whether and how this Ruby can be profiled on this machine. It measures the overhead in a short session with work of
  # its own.
  #
  # This file loads even where the extension does not. Most of the module is native; this reopens it.
  module Doctor
    # Intervals whose effective values are reported, ns.
    INTERVALS = [50_000, 1_000_000, 10_000_000].freeze
    # The variables that change what a session does, or where one runs.
    VARIABLES = /\A(?:RUBYOPT|RUBY_MN_THREADS|RUBY_[YZ]JIT_ENABLE|PROFILER_.+)\z/.freeze
    JITS = %w[YJIT ZJIT].freeze
    ENGINE = "PROFILER_ENGINE"
    # Engines that do not wait for the kernel's tick.
    FINE = %w[perf ticker].freeze
    # CPU time of the session's work, ms: enough for some samples at any kernel's tick, and short.
    BURN_MS = 150
    WARM_UP_MS = 10
    # The depth of the stack below the session's work, as in an app: the overhead of a sample grows with its stack.
    DEPTH = 50

    class << self
      # Collects the facts. The keys are always there; unknown values are nil or empty. Keys that end in +_ns+ are nanoseconds.
      #
      # * +:ok+: whether this process can be profiled
      # * +:problems+: why it cannot; sentences
      # * +:warnings+: defects of the setup, and notes that every profile here would have; sentences
      # * +:profiler+: its version
      # * +:ruby+: +:engine+, +:version+, +:platform+; +:unsupported+: why it is not supported
      # * +:jits+: for each +:name+, +:available+, +:enabled+
      # * +:walking+: +:anywhere+, whether stacks can be sampled at any instruction; +:reason+ why not
      # * +:waits+: +:seen+, how +:wall+ finds waits: "measured", or "sampled" by signals; +:reason+ why it cannot
      # * +:objects+: +:seen+, whether allocations can be sampled; +:reason+ why not
      # * +:kernel+: +:release+; +:tick_ns+ and +:hz+ of the tick on which it checks timers
      # * +:intervals+: for each +:requested_ns+ the average +:effective_ns+ with the chosen engine
      # * +:signal+: the owner of SIGPROF: "nobody", "us" or "foreign"
      # * +:engines+: for each +:name+, +:available+, +:reason+ why not, +:note+, its limits and why it is not chosen then
      # * +:engine+: +:chosen+ by a session; +:requested+, the value of PROFILER_ENGINE
      # * +:cost+: nil or measured: +:sample_ns+ of CPU for one sample of a stack of +:frames+ frames, and +:percent+ of the CPU
      #   at +:samples_per_second+. Further the default +:interval_ns+, the resulting +:effective_interval_ns+ and the
      #   +:samples+ of the measurement. The kernel's own cost of a signal is not in it.
      # * +:environment+: the set variables that change something, by name
      #
      # @return [Hash{Symbol => Object}]
      def examine
        @problems = []
        @warnings = []
        loaded = load_extension
        # The owner is read before a session runs, which makes the signal ours.
        native = loaded ? { engines: _engines, owner: _signal_owner, reason: _unsafe_to_walk, waits: _waits, objects: _objects } : { engines: [], waits: [] }
        tick_ns = tick
        check_environment if loaded
        profile = loaded ? session : nil
        coarse_ns = tick_ns unless profile && FINE.include?(profile.meta[:engine])
        cost = profile && cost_of(profile, coarse_ns)
        {
          ok: @problems.empty?, problems: @problems, warnings: @warnings, profiler: VERSION,
          ruby: ruby, jits: jits, walking: { anywhere: loaded ? native[:reason].nil? : nil, reason: native[:reason] },
          waits: { seen: native[:waits][0], reason: native[:waits][1] },
          objects: { seen: loaded ? native[:objects].nil? : nil, reason: native[:objects] },
          kernel: { release: Etc.uname[:release], tick_ns: tick_ns, hz: tick_ns && (1e9 / tick_ns).round },
          intervals: INTERVALS.map { |ns| { requested_ns: ns, effective_ns: tick_ns && [ns, *coarse_ns].max } },
          signal: native[:owner],
          engines: native[:engines].map { |name, reason, note| { name: name, available: reason.nil?, reason: reason, note: note } },
          engine: { chosen: profile && profile.meta[:engine], requested: requested_engine },
          cost: cost, environment: environment
        }
      end

      private

      def load_extension
        reason = Platform.unsupported_reason
        @problems << reason if reason
        return false if reason

        require_relative "../profiler"
        true
      rescue LoadError => e
        @problems << "the extension cannot be loaded: #{e.message.lines.first.to_s.chomp}"
        false
      end

      def ruby
        { engine: RUBY_ENGINE, version: RUBY_VERSION, platform: RUBY_PLATFORM, unsupported: Platform.unsupported_reason }
      end

      def jits
        JITS.map do |name|
          jit = RubyVM.const_get(name) if defined?(RubyVM) && RubyVM.const_defined?(name)
          { name: name, available: !jit.nil?, enabled: jit.respond_to?(:enabled?) && jit.enabled? ? true : false }
        end
      end

      # Returns the length of the kernel's tick: the coarse clock advances once per tick, so its resolution is that length.
      def tick
        Process.clock_getres(Process::CLOCK_MONOTONIC_COARSE, :nanosecond) if defined?(Process::CLOCK_MONOTONIC_COARSE)
      rescue SystemCallError
        nil
      end

      def environment
        set = ENV.select { |name, value| name.match?(VARIABLES) && !value.empty? }
        set.sort.to_h.transform_values { |value| value.dup.force_encoding(Encoding::UTF_8).scrub }
      end

      def requested_engine
        environment[ENGINE]
      end

      # Checks the settings of profiler/autoload. Invalid ones are only a warning, as this process can be profiled all the same.
      def check_environment
        Session.check # PROFILER_ENGINE: if it is wrong, no session starts, and the one below will say so
        require_relative "autoload/settings"
        begin
          Session.check(**Autoload::Settings.new.session)
        rescue ArgumentError, SystemCallError => e
          @warnings << "profiler/autoload would not start with these PROFILER_ variables: #{e.message}"
        end
      rescue ArgumentError
        nil
      end

      # Runs a session as an app would. Its notes are those that every profile has here.
      #
      # @return [Profile, nil]
      def session
        run(WARM_UP_MS) # the first start makes the collector and its tables: no part of a sample's cost
        profile = run(BURN_MS)
        @warnings.concat(profile.meta[:notes])
        profile
      rescue Error, ArgumentError => e
        @problems << e.message
        nil
      end

      def run(milliseconds)
        Profiler.run(threads: :current) { burn(DEPTH, cpu_ns + (milliseconds * 1_000_000)) }
      end

      def burn(depth, till_ns)
        return burn(depth - 1, till_ns) if depth.positive?

        100.times { |number| number.to_s } while cpu_ns < till_ns
      end

      def cpu_ns
        Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
      end

      def cost_of(profile, coarse_ns)
        stats = profile.stats
        if stats[:samples].zero?
          @problems << "a session ran, but took no sample in #{BURN_MS} ms of CPU"
          return nil
        end
        compare(stats, coarse_ns)
        own_ns = stats[:handler_ns] + stats[:collector_ns]
        {
          sample_ns: own_ns / stats[:samples], percent: (100.0 * own_ns / stats[:cpu_ns]).round(2),
          samples_per_second: (1e9 / stats[:effective_interval_ns]).round, interval_ns: stats[:interval_ns],
          effective_interval_ns: stats[:effective_interval_ns], samples: stats[:samples],
          frames: profile.samples.map { |sample| sample.frames.size }.max
        }
      end

      # Warns if samples came less often than expected: some systems that claim to be Linux do not keep the tick that they report.
      def compare(stats, coarse_ns)
        expected_ns = [stats[:interval_ns], *coarse_ns].max
        return if stats[:effective_interval_ns] <= 2 * expected_ns # a shorter interval does no harm

        @warnings << format("a sample came every %.1f ms of CPU, although %.1f ms was expected",
                            stats[:effective_interval_ns] / 1e6, expected_ns / 1e6)
      end
    end
  end
end
