# frozen_string_literal: true

require_relative "../errors"
require_relative "../store/file_name"
require_relative "../platform"
require_relative "claim"
require_relative "recorded_memory"
require_relative "settings"

module Profiler
  module Autoload
    # A session from the start of the process to its end, continued in each forked child.
    #
    # Before +exec+ it writes what it has recorded. The new program may be a Ruby that owns the plain name, so the file's name
    # contains the pid and the number of times that the process called +exec+. If +exec+ fails, that file is deleted and the
    # recording continues.
    #
    # It raises nothing into the app once it has started. Problems are reported on stderr.
    class Recording
      # Loads the profiler, and starts what the environment requests.
      #
      # @return [Recording, nil] nil for an always-on session or a control socket, which need no recording
      # @raise [StandardError] when it cannot start; the message is for people
      def self.start(env = ENV)
        reason = Platform.unsupported_reason
        raise Unsupported, reason if reason

        require_relative "../../profiler"
        # A copy, as an app may clear its environment. Of two values by one name the first counts, as for ENV itself.
        settings = Settings.new(env.to_h { |name, _| [name, env[name]] })
        # Processes that this one starts have the same variables, so only the first reports them.
        settings.misspelt.each { |sentence| Losses.warn(sentence) } unless env.key?(Settings::OWNER)
        Control.beside(**settings.control) if settings.control?
        return if settings.control_only?

        InLibraries.watch
        # The claim is for those that inherit the environment.
        return new(settings, Claim.new(env)) unless settings.continuous? || settings.flight?

        # Both are read before one starts, so that an error in one leaves neither.
        continuous = settings.continuous if settings.continuous?
        flight = settings.flight if settings.flight?
        Profiler.flight_recorder(**flight) if flight
        Profiler.continuous(**continuous) if continuous
        nil
      rescue StandardError
        Flight.current&.stop if settings&.flight?
        raise
      end

      # Returns the working directory, with a slash at the end; nil if it was removed.
      def self.directory
        File.join(Dir.pwd, "").b # whose encoding can be another one than that of a path
      rescue SystemCallError
        nil
      end

      def initialize(settings, claim)
        @settings = settings
        @claim = claim
        settings.check
        @directory = Recording.directory
        Ends.redefine_methods
        # Not Profiler.start: the app's own Profiler.stop must not end this session.
        @session = Session.begin(settings.session, settled: true) # until {#begin}
        @session.pause if settings.start_paused?
        # Claimed only now, so that a process that cannot be profiled leaves the name to the next.
        @plain = settings.named? && claim.mine?
        @pid = Process.pid
        @memory = RecordedMemory.new if settings.memory
      rescue StandardError
        @session&.discard
        raise
      end

      attr_reader :settings

      # Returns whether this process is a forked child of the one that started the recording.
      def child?
        !@pid.equal?(Process.pid) # not ==, which an app may have redefined
      end

      # Begins to record and to count. What comes before is the profiler's own work.
      def begin
        @used = used
        @session.unsettle
      end

      # Ends what is recorded and counted, as what comes after is the profiler's own work.
      def settle
        return if @ended

        @ended = used
        @session.settle if @session.running?
      end

      # Stops the session and writes the files; those of a forked child have its pid in the name. A no-op when called again.
      #
      # @return [String, nil] the summary, if something was written and it is wanted
      #
      # @param error [Exception, nil] that ends the process
      def finish(error = nil)
        write(with_end(@session.stop, error)) if @session.running?
      end

      # Finishes at the end of the process. Under +profiler record+ the command prints the summary, of all processes.
      def process_ends(error = nil)
        line = finish(error)
        line unless @claim.by_command?
      end

      # Lists for +profiler record+ what this process used until {#settle}.
      def list_used
        @claim.used(*(@ended || used).zip(@used).map { |now, before| now - before })
      end

      # Starts counting in a forked child from what its parent used. A daemon is the +same+ process.
      def forked(same)
        @ended = nil
        @used = used
        @memory&.forked unless same
      end

      # Writes the profile so far. The session continues.
      #
      # @return (see #finish)
      def write_partial
        write(@session.snapshot) if @session.running?
      end

      # Pauses and writes the profile so far, or resumes.
      #
      # @return [String, nil] a line for people
      def toggle
        return unless @session.running?

        if @session.paused?
          @session.resume
          "recording"
        else
          @session.pause
          write_partial
        end
      end

      # Runs the block, which calls exec. The profile so far is written under a name of its own, as the new program may be a Ruby
      # that writes this one. If exec fails, everything continues.
      def around_exec
        return yield unless @session.running?

        paused = @session.paused?
        written = before_exec
        begin
          @claim.exec { yield }
        ensure
          after_failed_exec(written, paused)
        end
      end

      private

      # @return [Array<Integer>] garbage collections, their time in nanoseconds, and allocated objects
      def used
        [GC.count, GC.respond_to?(:total_time) ? GC.total_time : 0, GC.stat(:total_allocated_objects)]
      end

      # Errors here must not prevent the app's exec. Most forked children that call exec have no samples, and write no file.
      def before_exec
        @session.pause
        profile = @session.snapshot
        return [] if profile.stats[:samples].zero?

        write_each(paths_of("#{Process.pid}.#{@claim.execs}"), profile)
      rescue StandardError
        []
      end

      # Continues after a failed exec. The app must get the exception of exec itself.
      def after_failed_exec(written, paused)
        written.each { |path| File.delete(path) if File.exist?(path) }
        @session.resume unless paused
      rescue StandardError
        nil
      end

      # Creates files only now, not at the start, because a killed process would leave incomplete files.
      def write(profile)
        profile = @memory.into(profile) if @memory
        written = write_each(@plain && !child? ? @settings.paths : paths_of(Process.pid), profile)
        summary(profile, written) unless written.empty? || @settings.quiet? || child?
      end

      # Adds to the metadata how a process ended that failed, so that comparisons can say so. A signal is not a failure: servers end like this.
      def with_end(profile, error)
        return profile if error.nil? || error.is_a?(SignalException) || (error.is_a?(SystemExit) && error.success?)

        Losses.own(Losses::OF_APPS, ->(_error) { profile }) do
          ended = error.is_a?(SystemExit) ? "exit status #{error.status}" : Native.class_name(error.class)
          Native.with_labels(profile, {}, {}, { ended: ended })
        end
      end

      def paths_of(process)
        @settings.paths.map { |path| FileName.with_pid(path, process) }
      end

      # @return [Array<String>] the paths that could be written
      def write_each(paths, profile)
        paths.select { |path| write_to(path, profile) }
      end

      def write_to(path, profile)
        profile.save(path, format: @settings.format)
        @claim.wrote(path)
        true
      rescue StandardError => e
        reason = e.is_a?(SystemCallError) ? SystemCallError.new(e.errno).message : e.message
        Losses.warn("the profile was not written to #{path}: #{reason}")
        false
      end

      def summary(profile, written)
        stats = profile.stats
        short = too_short(profile)
        files = written.map { |path| @directory && path.b.start_with?(@directory) ? path.byteslice(@directory.bytesize..-1) : path }
        return "#{short} -> #{files.join(", ")}" if short

        share = Native.overhead(profile)&.join(" ")
        format("%s %.2f s, %s, %s (%d dropped)%s -> %s",
               profile.meta[:modes].map(&:to_s).join("+"), measured_ns(stats) / 1e9, counted(stats[:threads], "thread"),
               counted(stats[:samples], "sample"), stats[:dropped], share && ", overhead #{share}", files.join(", "))
      end

      # Returns advice for a program with too few samples, whose overhead is not worth reporting.
      def too_short(profile)
        sentence, interval = Native.too_short(profile) || [] # the assignment would call to_ary of nil, which an app may define
        return sentence unless interval

        "#{sentence} (#{@claim.by_command? ? "--interval #{interval}" : "#{Settings::INTERVAL}=#{interval}"})"
      end

      # Returns the CPU time; or if only wall clock time was measured, that of all threads; or else the duration.
      def measured_ns(stats)
        [stats[:cpu_ns], stats[:wall_ns], stats[:duration_ns]].find(&:positive?) || 0
      end

      def counted(number, noun)
        "#{number} #{noun}#{"s" unless number.equal?(1)}"
      end
    end
  end
end
