# frozen_string_literal: true

# If another copy of the gem is already loaded, such as that of the command +profiler+, keeps that one: with both, each would do
# half of the work.
return if defined?(Profiler::HOME) && Profiler::HOME != __dir__

require_relative "profiler/version"
require_relative "profiler/errors"
require_relative "profiler/platform"
require_relative "profiler/process/clock"
require_relative "profiler/process/losses"
require_relative "profiler/metrics"
require_relative "profiler/store/output"

# Measures where a Ruby program spends its time and memory.
#
#   profile = Profiler.run(mode: :cpu) { work }
#   profile.save("cpu.html")
#
# Nothing runs until a session starts: requiring this file installs no thread, timer, hook or handler.
module Profiler
  # The directory of the copy of the gem that is loaded.
  #
  # @api private
  HOME = __dir__

  # Loaded on first use: what starts threads or listens, pages, and {leaks}. All that a trap can call is loaded now, because a
  # trap cannot load files.
  FILES = {
    Browser: "browser",
    Continuous: "periods/continuous",
    Control: "control",
    Directory: "store/directory",
    Flight: "periods/flight",
    Growth: "leaks",
    Html: "html",
    Leaks: "leaks",
    MethodTrace: "method_trace",
    Ledger: "ledger",
    MemoryLog: "periods/memory_log",
    Middleware: "middleware",
    Sinks: "sinks",
    OptionFault: "option_fault",
    OwnSocket: "process/own_socket",
    Otlp: "sinks/otlp",
    Nearest: "nearest",
    Periods: "periods/periods",
    Permission: "permission",
    Pprof: "pprof",
    Pyroscope: "sinks/pyroscope",
    Requests: "requests",
    UnixAddress: "process/unix_address"
  }.freeze
  FILES.each { |name, file| autoload(name, "#{__dir__}/profiler/#{file}") }

  # The start of a marker without a block: after its end, so its duration is 0.
  INSTANT = (2**63) - 1
  private_constant :INSTANT

  # Errors of the profiler's own work, after which an app continues without it. All other exceptions came from outside.
  RESCUED_ERRORS = [Error, ArgumentError, SystemCallError, IOError, ThreadError].freeze
  private_constant :RESCUED_ERRORS

  # Sessions and files of {Profiler.run}, to be written if the process ends inside the block, as a forked child does.
  @unwritten = {}.compare_by_identity

  class << self
    # Profiles the block.
    #
    # A process that is forked inside the block writes +out+ too, when it ends or leaves the block. Its file has its pid in the
    # name: +out.42.pb.gz+.
    #
    # @param mode [Symbol, Array<Symbol>] +:cpu+, +:wall+, +:allocations+ (or +:object+), +:heap+ (or +:retained+), +:native+, or several
    # @param interval [Integer] microseconds between two samples of a thread, 50 to 1,000,000 (default 1,000). The kernel's tick
    #   can lengthen it, see {Profile#stats}
    # @param frequency [Integer] samples a second, 1 to 20,000, in place of +interval+
    # @param max_overhead [Float] the largest share of the process's CPU time that profiling may take, 0.0001 to 0.5. It is kept by
    #   longer intervals; +:allocations+ need {Profiler.continuous} for it, and +:heap+ and +:native+ cannot keep it
    # @param every [Integer] sample one of every N objects, 1 to 1,000,000 (default 1,000), for +:allocations+ and +:heap+
    # @param every_bytes [Integer] sample one object of every N bytes of slots, 1,024 to 1,073,741,824, or with +:native+ one block (65,536)
    # @param out [String, nil] file to write; its extension selects the format. It is checked before the block runs and written
    #   even when the block raises.
    # @param format [Symbol, String, nil] format of +out+, in place of its extension
    # @param threads [Symbol, Thread, Array<Thread>] +:all+, including threads that start later; +:current+; or these
    # @param labels [Hash, nil] profile only while all of these labels are current, see {label}
    # @param static_labels [Hash, nil] added to every sample without a label of that name
    # @param depth [Integer] frames kept of a stack, 128 to 10,000 (default 2,048)
    # @param engine [Symbol, nil] +:perf+, +:thread_timer+, +:ticker+, +:setitimer+ or +:safepoint+. Without it, PROFILER_ENGINE
    #   or the best available. Concurrent sessions share one.
    # @param gc [Symbol, nil] shows garbage collection under its cause by default; +:root+ in one place; +:ignore+ (or
    #   <tt>ignore_gc: true</tt>) leaves it out, see {Profile#gc}
    # @param timeline [Boolean] keep also when each sample was taken, see {Profile#timeline}; +raw+ is an alias
    # @param fibers [Boolean] label samples with their +fiber+, a number in the order in which fibers first ran
    # @param spans [Boolean] label samples with the +trace_id+ and +span_id+ of OpenTelemetry, where they were taken in a sampled span,
    #   and with its +root_span_id+ if the process entered the trace with another one; 10,000 spans are kept apart
    # @param owners [Boolean] with +:native+, label live memory with its +owner+, as {Profiler.memory} finds it: the process is copied
    #   at the end, and by {Session#snapshot} and {Session#rotate}
    # @param trim_path [Boolean, String, Array<String>] shorten paths, see {Profile#trim_path}; true: below the working
    #   directory
    # @param name [String, Symbol, nil] the title of the profile, kept in its metadata as +name+
    # @param metadata [Hash] arbitrary key/value metadata stored in the profile's header
    # @return [Profile] the block's value is its {Profile#value}
    # @return [nil] if the session was stopped inside the block
    # @raise [ArgumentError] for a value that is not allowed
    # @raise [SystemCallError] if +out+ cannot be written
    # @raise [Unsupported] if this process cannot be profiled
    def run(out: nil, format: nil, **options)
      raise ArgumentError, "no block given" unless block_given?

      if out
        ensure_supported
        output = Output.new(out, format: format)
        options = { timeline: true, **options } if output.page? && !options.key?(:raw)
      end
      session = nil
      begin_session(options, bound: true) { |started| session = started } # so that no exception can come in between
      if output
        @unwritten[session] = output
        Ends.listen(self)
      end
      begin
        value = yield
      rescue Exception # rubocop:disable Lint/RescueException -- it is raised again
        finish_quietly(session, output)
        raise
      end
      finish(session, output, value)
    ensure
      # A throw, break or next out of the block passes only here.
      finish_quietly(session, output) if session && unfinished?(session)
      @unwritten.delete(session) if output
    end
    alias profile run

    # Profiles the block with a timeline and shows the page in a browser, or prints the page's path if there is no browser.
    #
    #   Profiler.view { work }
    #
    # @param options [Hash] as for {run}; +mode+ is CPU time and, from Ruby 3.3 on, wall clock time
    # @return [Profile, nil] see {run}
    # @raise [ArgumentError, SystemCallError, Unsupported] see {run}
    def view(**options, &block)
      profile = run(mode: Platform::TIME_MODES, timeline: true, **options, &block)
      profile&.view
      profile
    end

    # Starts a session and leaves it running. The options are those of {run}, except +out+ and +format+.
    #
    # @return [Session]
    # @raise [ArgumentError] for a value that is not allowed
    # @raise [Unsupported] if this process cannot be profiled
    def start(**options)
      begin_session(options, starter: Thread.current)
    end

    # Stops the session that this thread started last with {start}, or else the last one of any thread. Sessions of {run} end
    # with their blocks.
    #
    # @return [Profile]
    # @raise [NotRunning] if no session of {start} is running
    # @raise [Unsupported] in a Ractor other than the main one
    def stop
      Platform.require_main_ractor
      session = Session.newest if defined?(Session)
      raise NotRunning, "no session is running in this process" unless session

      session.stop
    end

    # Records a named interval that lasts as long as the block, or without a block, an instant. Sessions that profile this
    # thread keep 10,000 markers, and 256 bytes of each name, see {Profile#markers}.
    #
    #   Profiler.marker("import") { import }
    #
    # @param name [String, Symbol]
    # @return what the block returns
    # @raise [ArgumentError] for another name
    def marker(name)
      started_ns = Clock.now_ns
      unless String === name || Symbol === name
        raise ArgumentError, "#{AnyObject.text(name)} is not the name of a marker (allowed: a String or a Symbol)"
      end

      begin
        yield if block_given?
      ensure
        Native.mark(Symbol === name ? name.name : name, block_given? ? started_ns : INSTANT) if defined?(Session)
      end
    end

    # Labels the samples that are taken in the block. Sessions can select by labels.
    #
    #   Profiler.label(endpoint: "users#show") { render }
    #
    # Labels apply to this fiber and to fibers created in the block, not to threads. On Ruby 3.1, new fibers have them only
    # while a session runs. Nested labels are combined, and +nil+ removes one. Names and values are kept up to 256 bytes. Some
    # 4,096 different sets of labels are kept apart between two profiles; the values of later ones are +(other)+.
    #
    # @param labels [Hash{Symbol, String => String, Symbol, Numeric, true, false, nil}]
    # @return what the block returns
    # @raise [ArgumentError] for a label that is not allowed
    def label(labels = nil, **more)
      raise ArgumentError, "no block given" unless block_given?
      return yield unless defined?(Labels)

      # An exception from outside may arrive after enter has finished, so leave runs in any case.
      before = Labels.current
      begin
        Labels.enter(before, labels.equal?(nil) ? more : Hash === labels ? { **labels, **more } : labels)
        yield
      ensure
        Labels.leave(before)
      end
    end

    # Returns the current labels of this fiber.
    #
    # @return [Hash{Symbol => String}]
    def labels
      defined?(Labels) ? Labels.to_h : {}
    end

    # Returns the name of a method in profiles: +Foo#bar+, +Foo.bar+, +#<anonymous subclass of Foo>#bar+. It is the same in
    # every process: it contains no address, and no method of the app is called to find it.
    #
    # @param method [Method, UnboundMethod]
    # @return [String]
    # @raise [ArgumentError] for anything else
    def name_of(method)
      Native.name_of(method)
    end

    # Counts and times every call of a method, with its callers, results and exceptions. All other code runs as before.
    #
    #   puts Profiler.trace("Order#save") { import }
    #
    # Without a block, the trace runs until {MethodTrace#stop}, +limit+ or +max_overhead+.
    #
    # @param method [String, Method, UnboundMethod] +Order#save+, +Order.find+; <tt>Order#*</tt> for all in Ruby that the class defines
    # @param limit [Integer, nil] the number of calls to trace, of each method; nil for all
    # @param max_overhead [Float] the largest share of one core that the trace may take, 0.0001 to 1
    # @param options [Hash] +out+, a file to write the result to, even if the process ends first, as JSON if it is named +.json+;
    #   +calls+, true to count all that runs inside, see {MethodTrace#functions}; and to log calls, the options of {MethodTrace::Log}
    # @return [MethodTrace, MethodTrace::Group] with a block, its {MethodTrace#value} is what the block returns
    # @raise [ArgumentError, SystemCallError, Unsupported] as {run}, and if there is no such method, or its calls cannot be seen
    def trace(method, limit: nil, max_overhead: MethodTrace::MAX_OVERHEAD, **options, &block)
      ensure_supported
      MethodTrace.open(method, limit: limit, max_overhead: max_overhead, **options, &block)
    end

    # Counts every object that the block allocates on its own thread. It is meant for tests; {run} with <tt>mode:
    # :allocations</tt> samples objects.
    #
    #   Profiler.allocations_of { parse(line) }.objects
    #
    # @param warm_up [Integer] how often to run the block before, to fill caches
    # @return [Allocations]
    # @raise [Unsupported] if this process cannot be profiled
    def allocations_of(warm_up: 0, &block)
      raise ArgumentError, "no block given" unless block

      ensure_supported
      Allocations.of(warm_up, &block)
    end

    # Runs the block +rounds+ times and finds what it leaks: live objects after a full garbage collection, whose number grew in
    # most rounds. Objects from before the first round do not count.
    #
    #   puts Profiler.leaks { app.call(request) }
    #
    # @param rounds [Integer] 2 or more; more rounds find fewer false positives
    # @param warm_up [Integer] how often to run the block before
    # @param every [Integer] sample one of every N objects
    # @return [Array<Growth>] the most bytes first, growth over all rounds
    # @raise [ArgumentError, Unsupported]
    def leaks(rounds: 5, warm_up: 1, every: 1, &block)
      raise ArgumentError, "no block given" unless block

      ensure_supported
      Leaks.find(rounds, warm_up, every, &block)
    end

    # Returns the profiler's own counters, under the names that Prometheus uses: what it recorded in this process, what it
    # delivered and lost, and its overhead. {Pprof} serves the same at +/metrics+.
    #
    #   Profiler.metrics[:profiler_samples_total]              # => 1200
    #   Profiler.metrics[:profiler_windows_delivered_total]    # => {{sink: "pyroscope"} => 42}
    #
    # @return [Hash{Symbol => Numeric, Hash{Hash => Numeric}}] numbers; where a metric has labels, numbers by these
    # @raise [Unsupported] in a Ractor other than the main one
    def metrics
      Platform.require_main_ractor # another Ractor cannot load the file of Metrics
      Metrics.read
    end

    # Lets other processes of this user look into this one, with <tt>profiler ps</tt>, +dump+, +start+, +stop+ and +snapshot+.
    # A thread listens on a socket in a directory of the user's own for the life of the process; forked children have their own.
    #
    # @param directory [String, nil] for the socket; by default +profiler+ in XDG_RUNTIME_DIR, or else /tmp/profiler-UID
    # @param dump_signal [String, Symbol, nil] a signal that prints a dump on stderr, as +QUIT+
    # @return [Control] the one of this process, if it is there already
    # @raise [ArgumentError] for a value that is not allowed
    # @raise [Error] if other users may enter the directory, or no thread can be started
    # @raise [SystemCallError] if there can be no socket
    # @raise [Unsupported] if this process cannot be profiled
    def control(directory: nil, dump_signal: nil)
      ensure_supported
      Control.start(directory, dump_signal)
    end

    # Returns whether a session runs in this process. It is always false in a Ractor other than the main one.
    def running?
      defined?(Session) ? Session.any? : false
    end

    # Returns whether this process can be profiled now.
    def supported?
      unsupported_reason.nil?
    end

    # Returns the reason why this process cannot be profiled, or nil if it can.
    #
    # @return [String, nil]
    def unsupported_reason
      Platform.unsupported_reason || Platform.ractor_reason || Native.refusal || (SelfCheck.unsupported_reason if SelfCheck::NEEDED)
    end

    # Writes the profiles of blocks in which the process ends. Our +ensure+ may not run then.
    #
    # @api private
    def process_ends(_error)
      @unwritten.each { |session, output| finish_quietly(session, output) }
    end

    private

    # Takes the options as one Hash, because spreading it into keywords at every step would take half of the time of a start.
    def begin_session(options, starter: nil, bound: false, &on_start)
      ensure_supported
      Session.begin(options, starter: starter, bound: bound, &on_start)
    end

    def ensure_supported
      reason = Platform.unsupported_reason # the rest is for the session itself to say
      raise Unsupported, reason if reason

      Platform.require_main_ractor
    end

    # Returns whether the session runs, or has a profile that an exception kept from being returned.
    def unfinished?(session)
      session.running? || session.unclaimed?
    end

    def finish(session, output, value)
      return unless unfinished?(session)

      profile = session.stop.with_value(value)
      output&.write(profile)
      profile
    end

    # Never hides the user's own exception, which propagates. Exceptions from outside propagate as well.
    def finish_quietly(session, output)
      finish(session, output, nil)
    rescue *RESCUED_ERRORS => e
      Losses.warn("the profile was lost: #{Losses.reason(e)}")
    end
  end
end

module Profiler
  # The extension does not load on other platforms, where only {supported?} works.
  unless Platform.unsupported_reason
    Platform.load_extension
    %w[background_thread process/interop process/ends process/eager self_check in_libraries session
        spans profile profile/analysis profile/memory input sample allocations].each { |file| require_relative "profiler/#{file}" }
  end
  require_relative "profiler/always_on"
  require_relative "profiler/memory"

  # What is not for users. Files that are loaded later hide their constants themselves.
  OWN = %i[AnyObject Attachment BackgroundThread Browser Clock ControlServer Doctor Eager Ends FILES FiberSpan FileName Html InLibraries Input
           Interop Labels Leaks Losses Metrics Native Nearest OptionFault Output OwnSocket OWN Periods Permission Platform Requests SelfCheck
           Sinks Spans Tracer UnixAddress].freeze
  private_constant(*(OWN & constants))
end
