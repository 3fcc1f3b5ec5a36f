# frozen_string_literal: true

require_relative "../errors"
require_relative "../platform"
require_relative "claim"
require_relative "settings"

module Profiler
  module Autoload
    # One session from the start of the process to its end.
    class Recording
      # @raise [StandardError] when it cannot start; the message is for people
      def self.start(env = ENV)
        reason = Platform.unsupported_reason
        raise Unsupported, reason if reason

        require_relative "../../profiler"
        new(Settings.new(env), Claim.new(env))
      end

      def initialize(settings, claim)
        @settings = settings
        @claim = claim
        settings.check
        # Not Profiler.start: the app's own Profiler.stop is not about this session.
        @session = Session.start(**settings.session)
        # Claimed only now: a process that cannot be profiled leaves the name to the next.
        plain = settings.named? && claim.mine?
        @paths = plain ? settings.paths : settings.paths.map { |path| FileName.with_pid(path) }
        @pid = Process.pid
        @directory = File.join(Dir.pwd, "")
      end

      # Stops the session and writes the files. In a forked child, which inherits this object and the
      # block that calls this, it does nothing: session and files are the parent's.
      #
      # @yield [String] one line for people, for each thing that went wrong
      # @return [String, nil] the summary, if something was written and it is wanted
      def finish(&problem)
        return unless @pid == Process.pid && @session.running?

        profile = @session.stop
        written = @paths.select { |path| write(profile, path, &problem) }
        summary(profile, written) unless written.empty? || @settings.quiet?
      end

      private

      # The file is made only now, not at the start: a process that turns into another program, or is
      # killed, would leave a part of it behind.
      def write(profile, path)
        profile.save(path, format: @settings.format)
        @claim.wrote(path)
        true
      rescue StandardError => e
        reason = e.is_a?(SystemCallError) ? SystemCallError.new(e.errno).message : e.message
        yield "the profile was not written to #{path}: #{reason}"
        false
      end

      def summary(profile, written)
        stats = profile.stats
        files = written.map { |path| path.start_with?(@directory) ? path[@directory.length..-1] : path }
        format("%s %.2f s, %s, %s (%d dropped), overhead %.1f %% -> %s",
               profile.meta[:modes].join("+"), stats[:cpu_ns] / 1e9, counted(stats[:threads], "thread"),
               counted(stats[:samples], "sample"), stats[:dropped], overhead(stats), files.join(", "))
      end

      # In percent of the CPU time.
      def overhead(stats)
        return 0.0 if stats[:cpu_ns].zero?

        100.0 * (stats[:handler_ns] + stats[:collector_ns]) / stats[:cpu_ns]
      end

      def counted(number, noun)
        "#{number} #{noun}#{"s" unless number == 1}"
      end
    end
  end
end
