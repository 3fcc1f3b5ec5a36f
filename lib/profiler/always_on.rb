# frozen_string_literal: true

# Sessions for the life of the process.
module Profiler
  class << self
    # Profiles the process for the rest of its life, with one profile per period. Each profile contains all that happened since
    # the previous one. A forked child continues by itself. The last profile is delivered when the process ends, even by
    # +exit!+ or +exec+, which wait for it for at most 5 seconds.
    #
    #   Profiler.continuous(out: "tmp/profiles", period: 60)
    #
    #   Profiler.continuous(to: Profiler::Pyroscope.new("http://pyroscope:4040", service: "shop"))
    #
    # @param out [String, nil] a directory for the profiles; it is created with mode 0700
    # @param format [Symbol, String] the extension of its files
    # @param keep [Integer] newest files that stay there
    # @param to [Object, Array] backends: {Pyroscope}, {Otlp}, or their names, +"pyroscope"+ and +"otlp"+, configured by the
    #   environment
    # @param period [Numeric, nil] seconds, 0.1 to 86,400; periods end at multiples of it. Default 60, and 10 with backends
    # @param memory [Boolean, Numeric] keep a row of the memory of the process each minute, or every so many seconds, 1 to 86,400;
    #   see {Profile#memory}
    # @param options [Hash] as for {start}; by default +mode+ is <tt>%i[cpu wall]</tt>, before Ruby 3.3 +:cpu+, and +frequency+ 100,
    #   with +max_overhead+ 0.01; with that, +:allocations+ are sampled in some periods only
    # @yieldparam profile [Profile] on a thread of the profiler. If it raises, the profile is lost and counted.
    # @return [Continuous]
    # @raise [ArgumentError] for a value that is not allowed, or with neither +out+, +to+ nor a block
    # @raise [SystemCallError] if +out+ cannot be created
    # @raise [AlreadyRunning, Unsupported] if one is running, or this process cannot be profiled
    def continuous(out: nil, format: "pb.gz", keep: 1_000, to: [], period: nil, memory: false, **options, &block)
      ensure_supported
      sinks = Sinks.of(to)
      sinks << Sinks::Plain.new(Directory.new(out, format: format, keep: keep).tap(&:prepare)) if out
      sinks << Sinks::Plain.new(block) if block
      raise ArgumentError, "no block given, and no out: or to:" if sinks.empty?

      Continuous.start(sinks, period, options, memory)
    end

    # Keeps the last minutes of the process in memory, and writes them when something happens: {Flight#save}, a signal, a crash, a
    # slow request, much garbage collection. It can run beside {continuous}. A forked child continues by itself.
    #
    #   Profiler.flight_recorder(out: "tmp/flights", signal: "USR2", slower_than: 2)
    #
    # @param out [String] a directory for the files; it is created with mode 0700
    # @param format [Symbol, String] the extension of its files
    # @param keep [Integer] newest files that stay there
    # @param minutes [Numeric] 0.1 to 1,440
    # @param memory [Integer] bytes, 1 MiB to 1 GiB; the oldest minutes are dropped beyond
    # @param at [Array<Symbol>] ends of the process that write a file: +:crash+ (an exception), +:term+ (SIGTERM, without a trap of
    #   the app), +:exit+ (all others)
    # @param signal [String, Symbol, nil] a signal that writes a file, as +USR2+
    # @param slower_than [Numeric, nil] seconds; a request in {Middleware} that takes longer writes a file
    # @param gc_above [Numeric, nil] writes a file if garbage collection takes more than this share of the busy time, 0.01 to 1; it
    #   needs the mode +:wall+
    # @param gvl_above [Numeric, nil] the same for waiting for the GVL, from Ruby 3.3 on
    # @param options [Hash] as for {continuous}; by default +timeline+ is true
    # @return [Flight]
    # @raise [ArgumentError] for a value that is not allowed
    # @raise [SystemCallError] if +out+ cannot be created
    # @raise [AlreadyRunning, Unsupported] if one is running, or this process cannot be profiled
    def flight_recorder(out: "flights", format: "pb.gz", keep: 100, minutes: 5, memory: 16 << 20, at: %i[crash term], signal: nil, slower_than: nil,
                        gc_above: nil, gvl_above: nil, **options)
      ensure_supported
      triggers = Flight::Triggers.new(at: at, signal: signal, slower_than: slower_than, gc_above: gc_above, gvl_above: gvl_above,
                                      mode: options[:mode] || Periods::MODES)
      parts = Flight::Parts.new(minutes, memory)
      Flight.start(Directory.new(out, format: format, keep: keep).tap(&:prepare), parts, triggers, options)
    end

    # Returns the flight recorder that runs in this process.
    #
    # @return [Flight]
    # @raise [NotRunning] if none is running
    # @raise [Unsupported] in a Ractor other than the main one
    def flight
      Platform.require_main_ractor
      (Flight.current unless autoload?(:Flight)) or # a trap cannot load it
        raise NotRunning, "no flight recorder is running in this process"
    end
  end
end
