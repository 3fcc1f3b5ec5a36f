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
  @sessions = []

  class << self
    # Profiles the block.
    #
    # @param mode [Symbol, Array<Symbol>] what to measure: +:cpu+
    # @param interval [Integer] microseconds between two samples of a thread, 50 to 1,000,000
    #   (default 1,000); the kernel's tick can make it longer, see {Profile#stats}
    # @param frequency [Integer] the same as samples a second, 1 to 20,000; not both
    # @param out [String, nil] file to write; its extension says the format. It is checked before the
    #   block runs and written even when the block raises.
    # @param format [Symbol, String, nil] format of +out+ where its extension does not say it
    # @param depth [Integer] frames kept of a stack, 128 to 10,000 (default 2,048)
    # @param engine [Symbol, nil] +:thread_timer+ or +:safepoint+; chosen by itself when nil
    # @param metadata [Hash] words of your own for the profile's header
    # @return [Profile] the block's value is its {Profile#value}
    # @raise [ArgumentError] for a value that is not allowed
    # @raise [SystemCallError] if +out+ cannot be written
    # @raise [AlreadyRunning, Unsupported]
    def run(out: nil, format: nil, **options)
      raise ArgumentError, "no block given" unless block_given?

      ensure_supported
      output = out && Output.new(out, format: format)
      session = start(**options)
      begin
        value = yield
      rescue Exception # rubocop:disable Lint/RescueException -- whatever it is goes on
        finish_quietly(session, output)
        raise
      end
      finish(session, output, value)
    ensure
      # A throw, break or next out of the block comes by here alone.
      finish_quietly(session, output) if session&.running?
      output&.discard
    end
    alias profile run

    # Starts a session and leaves it running. Options as for {run}, but for +out+ and +format+.
    #
    # @return [Session]
    def start(**options)
      ensure_supported
      session = Session.start(**options)
      @sessions << session
      session
    end

    # Stops the session that was started last.
    #
    # @return [Profile]
    # @raise [NotRunning]
    def stop
      session = @sessions.reverse_each.find(&:running?)
      raise NotRunning, "no session is running in this process" unless session

      session.stop
    end

    # Whether a session runs in this process.
    def running?
      @sessions.any?(&:running?)
    end

    # Whether this process can be profiled at all.
    def supported?
      unsupported_reason.nil?
    end

    # Why it cannot; nil when it can.
    #
    # @return [String, nil]
    def unsupported_reason
      Platform.unsupported_reason
    end

    # @api private
    def forget(session)
      @sessions.delete(session)
    end

    private

    def ensure_supported
      reason = unsupported_reason
      raise Unsupported, reason if reason
    end

    def finish(session, output, value)
      return unless session.running? # a forked child that ran on: the session is its parent's

      profile = session.stop.with_value(value)
      output&.write(profile)
      profile
    end

    # The user's own exception goes on, whatever becomes of ours.
    def finish_quietly(session, output)
      finish(session, output, nil)
    rescue StandardError => e
      warn "[profiler] the profile was lost: #{e.message}"
    end
  end
end

# Elsewhere the extension does not load, and to ask {Profiler.supported?} is all that can be done.
if Profiler.supported?
  require "profiler/profiler"
  require_relative "profiler/session"
  require_relative "profiler/sample"
  require_relative "profiler/profile"
end
