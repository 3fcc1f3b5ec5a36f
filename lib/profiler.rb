# frozen_string_literal: true

require_relative "profiler/version"
require_relative "profiler/errors"
require_relative "profiler/platform"
require_relative "profiler/output"

# Says where the time of a Ruby program goes.
#
#   profile = Profiler.run(mode: :cpu) { work }
#   profile.save("cpu.svg")
#
# Nothing runs until a session starts: to require this installs no thread, timer, hook or handler.
module Profiler
  # What is asked in tests and after the work: the rest is needed in traps as well, where nothing can be loaded.
  autoload :Allocations, "#{__dir__}/profiler/allocations"
  autoload :Frame, "#{__dir__}/profiler/sample"
  autoload :Growth, "#{__dir__}/profiler/leaks"
  autoload :Leaks, "#{__dir__}/profiler/leaks"
  autoload :Marker, "#{__dir__}/profiler/sample"
  autoload :Middleware, "#{__dir__}/profiler/middleware"
  autoload :TimelineEvent, "#{__dir__}/profiler/timeline_event"
  autoload :Sample, "#{__dir__}/profiler/sample"

  # Begins after it ends, so it lasts nothing: what {Profiler.marker} without a block tells.
  INSTANT = (2**63) - 1
  private_constant :INSTANT

  # What our own work can raise where an app goes on without it: all else that is raised there came from outside.
  OWN_TROUBLE = [Error, ArgumentError, SystemCallError, IOError, ThreadError].freeze
  private_constant :OWN_TROUBLE

  # What {Profiler.run} has to write, should a forked child end inside the block.
  @unwritten = {}.compare_by_identity

  class << self
    # Profiles the block.
    #
    # @param mode [Symbol, Array<Symbol>] what to measure: +:cpu+, +:wall+, +:allocations+ (or +:object+), +:heap+ (or
    #   +:retained+), or several
    # @param interval [Integer] microseconds between two samples of a thread, 50 to 1,000,000
    #   (default 1,000); the kernel's tick can make it longer, see {Profile#stats}
    # @param frequency [Integer] the same as samples a second, 1 to 20,000; not both
    # @param every [Integer] of so many objects one is looked at, 1 to 1,000,000 (default 1,000), for +:allocations+
    #   and +:heap+
    # @param every_bytes [Integer] the same as bytes of their slots, 1,024 to 1,073,741,824; not both
    # @param out [String, nil] file to write; its extension says the format. It is checked before the
    #   block runs and written even when the block raises.
    # @param format [Symbol, String, nil] format of +out+ where its extension does not say it
    # @param threads [Symbol, Thread, Array<Thread>] +:all+, also those yet to be born; +:current+; or these
    # @param labels [Hash, nil] only while all of these are current, see {label}
    # @param static_labels [Hash, nil] on every sample that has none of that name
    # @param depth [Integer] frames kept of a stack, 128 to 10,000 (default 2,048)
    # @param engine [Symbol, nil] +:perf+, +:thread_timer+, +:ticker+, +:setitimer+ or +:safepoint+;
    #   PROFILER_ENGINE, or chosen by itself when nil. Sessions that run at once share one.
    # @param gc [Symbol, nil] garbage collection shows under what caused it; +:root+: in one place; +:ignore+ (also
    #   <tt>ignore_gc: true</tt>): nowhere, see {Profile#gc}
    # @param timeline [Boolean] keep also when all of it was, see {Profile#timeline}; +raw+ is another name for it
    # @param fibers [Boolean] samples say which fiber they are of: the label +fiber+, a number in the order in which fibers were
    #   first seen to run
    # @param metadata [Hash] words of your own for the profile's header
    # @return [Profile] the block's value is its {Profile#value}
    # @raise [ArgumentError] for a value that is not allowed
    # @raise [SystemCallError] if +out+ cannot be written
    # @raise [Unsupported]
    #
    # A process forked inside the block writes +out+ too, when it ends or leaves the block, with its pid in
    # the name: +out.42.pb.gz+ is what that child did.
    def run(out: nil, format: nil, **options)
      raise ArgumentError, "no block given" unless block_given?

      if out
        ensure_supported
        output = Output.new(out, format: format)
      end
      session = nil
      begin_session(options, bound: true) { |begun| session = begun } # so that no exception can come in between
      write_at_exit(session, output) if output
      begin
        value = yield
      rescue Exception # rubocop:disable Lint/RescueException -- whatever it is goes on
        finish_quietly(session, output)
        raise
      end
      finish(session, output, value)
    ensure
      # A throw, break or next out of the block comes by here alone.
      finish_quietly(session, output) if session && unfinished?(session)
      @unwritten.delete(session) if output
    end
    alias profile run

    # Starts a session and leaves it running. Options as for {run}, but for +out+ and +format+.
    #
    # @return [Session]
    def start(**options)
      begin_session(options, starter: Thread.current)
    end

    # Stops the session that this thread started last with {start}; if it has none, the one that any
    # thread did. Those of {run} end with their blocks.
    #
    # @return [Profile]
    # @raise [NotRunning]
    # @raise [Unsupported] in a Ractor that is not the main one
    def stop
      Platform.demand_main_ractor
      session = Session.newest if defined?(Session)
      raise NotRunning, "no session is running in this process" unless session

      session.stop
    end

    # Tells the sessions that look at this thread what it did: in the block, or at this moment. A session
    # keeps 10,000 markers, and 256 bytes of each name, see {Profile#markers}.
    #
    #   Profiler.marker("import") { import }
    #
    # @param name [String, Symbol]
    # @return what the block returns
    def marker(name)
      started_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      unless name.is_a?(String) || name.is_a?(Symbol)
        raise ArgumentError, "#{name.inspect} is not the name of a marker (allowed: a String or a Symbol)"
      end

      begin
        yield if block_given?
      ensure
        Session.send(:_mark, name.to_s, block_given? ? started_ns : INSTANT) if defined?(Session)
      end
    end

    # Puts labels on what happens in the block: samples taken meanwhile carry them, and sessions can look
    # for them. They hold for this fiber and for fibers made in the block, not for threads. Labels inside
    # labels add up, and +nil+ takes one away.
    #
    #   Profiler.label(endpoint: "users#show") { render }
    #
    # Names and values are kept up to 256 bytes. In one run of sessions 4,096 different sets are kept apart;
    # the values of what comes after are +(other)+.
    #
    # @param labels [Hash{Symbol, String => String, Symbol, Numeric, true, false, nil}]
    # @return what the block returns
    # @raise [ArgumentError] for a label that is not allowed
    def label(labels = nil, **more)
      raise ArgumentError, "no block given" unless block_given?
      return yield unless defined?(Labels)

      # What enter raises may have arrived when it was done, so leave undoes it in any case.
      before = Labels.current
      begin
        Labels.enter(before, labels ? labels.to_h.merge(more) : more)
        yield
      ensure
        Labels.leave(before)
      end
    end

    # The labels that are current here.
    #
    # @return [Hash{Symbol => String}]
    def labels
      defined?(Labels) ? Labels.to_h : {}
    end

    # What profiles call a method: +Foo#bar+, +Foo.bar+, +#<anonymous subclass of Foo>#bar+. The same in every
    # process: no address is in what has no name, and no method of the app is asked for one.
    #
    # @param method [Method, UnboundMethod]
    # @return [String]
    # @raise [ArgumentError] for anything else
    def name_of(method)
      Profile.send(:_name_of, method)
    end

    # What the block makes: every object, of those that its own thread makes. For tests; a session that looks at one object in
    # many is {run} with <tt>mode: :allocations</tt>.
    #
    #   Profiler.allocations_of { parse(line) }.objects
    #
    # @param warm_up [Integer] how often to run the block before: caches are filled by then
    # @return [Allocations]
    # @raise [Unsupported]
    def allocations_of(warm_up: 0, &block)
      raise ArgumentError, "no block given" unless block

      ensure_supported
      Allocations.of(warm_up, &block)
    end

    # Runs the block +rounds+ times and says what is more after each of them: what was made since the first time it ran here, is
    # alive after a full garbage collection, and has become more at its place almost every time.
    #
    #   puts Profiler.leaks { app.call(request) }
    #
    # @param rounds [Integer] from 2 on; the more, the less is taken for a leak that is none
    # @param warm_up [Integer] how often to run the block before that
    # @param every [Integer] of so many objects one is looked at
    # @return [Array<Growth>] the most bytes first, growth over the whole of the rounds
    # @raise [ArgumentError, Unsupported]
    def leaks(rounds: 5, warm_up: 1, every: 1, &block)
      raise ArgumentError, "no block given" unless block

      ensure_supported
      Leaks.find(rounds, warm_up, every, &block)
    end

    # Whether a session runs in this process. Always false in a Ractor that is not the main one, of which no session knows.
    def running?
      defined?(Session) ? Session.any? : false
    end

    # Whether this process can be profiled now.
    def supported?
      unsupported_reason.nil?
    end

    # Why it cannot; nil when it can.
    #
    # @return [String, nil]
    def unsupported_reason
      Platform.unsupported_reason || Platform.ractor_reason || Session.send(:_refusal)
    end

    private

    # A Hash, as to spread one into keywords at every step costs as much as half of a start.
    def begin_session(options, starter: nil, bound: false, &begun)
      ensure_supported
      Session.begin(options, starter: starter, bound: bound, &begun)
    end

    def ensure_supported
      reason = Platform.unsupported_reason # the rest is for the session itself to say
      raise Unsupported, reason if reason

      Platform.demand_main_ractor
    end

    # Whether it runs, or has a profile that an exception kept from being handed over.
    def unfinished?(session)
      session.running? || session.unclaimed?
    end

    def finish(session, output, value)
      return unless unfinished?(session)

      profile = session.stop.with_value(value)
      output&.write(profile)
      profile
    end

    # A forked child that ends inside the block passes by no ensure of ours.
    def write_at_exit(session, output)
      @unwritten[session] = output
      @at_exit ||= at_exit { @unwritten.each { |it, file| finish_quietly(it, file) } } || true
    end

    # The user's own exception goes on, whatever becomes of ours. What arrives from outside goes on as well.
    def finish_quietly(session, output)
      finish(session, output, nil)
    rescue *OWN_TROUBLE => e
      warn "[profiler] the profile was lost: #{e.message}"
    end
  end
end

# Elsewhere the extension does not load, and to ask {Profiler.supported?} is all that can be done.
unless Profiler::Platform.unsupported_reason
  require "profiler/profiler.so" # by its whole name, as it would else be looked for as Ruby in all directories first
  require_relative "profiler/interop"
  require_relative "profiler/session"
  require_relative "profiler/profile"
end
