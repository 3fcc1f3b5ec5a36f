# frozen_string_literal: true

# Profiles the whole process: +ruby -rprofiler/autoload app.rb+, or the same in RUBYOPT.
#
# It starts when it is loaded, and writes the profile when the process ends: see docs/forks.md. The variables are in
# autoload/settings.rb. An error in them, in this Ruby or on the disk prints one line on stderr, and the app runs unchanged.
require_relative "process/losses"

module Profiler
  # Starts and ends the recording of the process.
  module Autoload
    # The longest delay, in seconds, of the end of a process by a signal.
    PATIENCE = 30
    private_constant :PATIENCE

    class << self
      # Starts, and arranges for the end. It never raises.
      def start
        return if defined?(@recording)

        @recording = nil
        guarded("this process is not profiled") do
          require_relative "autoload/recording"
          @recording = Recording.start
        end
        return unless @recording

        guarded("some ends of this process will write no profile") { arrange }
        guarded("this process is not profiled") { @recording.begin }
      end

      # Writes the profile and ends the recording. A signal that ends a process often arrives twice, for example once at its
      # group and once from +profiler record+, which forwards it. The second one does not interrupt the writing.
      def process_ends(error = nil)
        error.is_a?(SignalException) ? Ends.in_time(PATIENCE) { finish(error) } : finish(error)
      end

      # Continues the recording in a forked child, with numbers of its own. What a daemon used before is listed by then.
      def forked(same)
        guarded("the garbage collections of this process are not counted") { @recording.forked(same) }
      end

      # Writes the profile so far, before this process ends silently.
      def becomes_daemon
        guarded("the garbage collections of this process are not counted") { @recording.list_used }
        reported("the profile was lost") { @recording.write_partial }
        wait_until_finished
      end

      # Runs the block, which calls exec.
      def around_exec(&exec)
        wait_until_finished
        @recording.around_exec(&exec)
      end

      # Pauses and writes, or resumes.
      def toggle
        reported("the profile was not written") { @recording.toggle }
      end

      private

      def finish(error = nil)
        settle
        guarded("the garbage collections of this process are not counted") { @recording.list_used }
        reported("the profile was lost") { @recording.process_ends(error) }
        wait_until_finished
      end

      def arrange
        Ends.listen(self) # blocks of at_exit run last first, so those of the app are profiled too
        at_exit { settle }
        settings = @recording.settings
        # Runs in a thread, as a trap may not wait for a lock of the thread that it interrupts.
        trap(settings.signal) { toggle_soon } if settings.signal
        end_after(settings.duration) if settings.duration
      end

      def settle
        guarded("the profile contains work of the profiler") { @recording.settle }
      end

      def toggle_soon
        guarded("the signal did nothing") { BackgroundThread.new("profiler signal") { toggle } }
      end

      def end_after(seconds)
        BackgroundThread.new("profiler duration") do
          Clock.sleep(seconds)
          @finishing = Thread.current
          reported("the profile was lost") { @recording.finish }
        end
      end

      # Waits for the thread of the duration if it is writing the profile, because the process would otherwise end halfway.
      def wait_until_finished
        return if @finishing.nil? || @finishing.ended_within?(Ends::PATIENCE)

        Losses.warn("the profile was lost: writing it took longer than #{Ends::PATIENCE} s")
      end

      def reported(what)
        guarded(what) do
          line = yield
          Losses.warn(line) if line
        end
      end

      # Handles errors of the recording. The app's own end, by a signal or exit, is never stopped.
      def guarded(what)
        yield
      rescue SystemExit, SignalException
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException -- a LoadError, or no memory: the app continues
        Losses.warn("#{what}: #{Losses.reason(e)}")
      end
    end
  end
end

Profiler::Autoload.start
