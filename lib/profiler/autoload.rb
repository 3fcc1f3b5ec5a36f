# frozen_string_literal: true

# Profiles the whole process: +ruby -rprofiler/autoload app.rb+, or the same in RUBYOPT.
#
# It starts when it is loaded, and writes the profile when the process ends. That can be a normal end, an exception, exit,
# abort, exit!, a signal that Ruby turns into an exception (INT, TERM, HUP), a daemon or exec. SIGKILL writes nothing. A forked
# child continues as a recording of its own, and writes a file with its pid in the name.
#
#   PROFILER_MODE=cpu PROFILER_OUT=app.pb.gz ruby -rprofiler/autoload app.rb
#
# The variables are in autoload/settings.rb. An error in them, in this Ruby or on the disk is one line on stderr; the app runs
# unchanged.
module Profiler
  # Starts and ends the recording of the process.
  module Autoload
    # Seconds that exit! waits for the profile to be written.
    DEADLINE = 5

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

        # Blocks of at_exit run last first, so those of the app are profiled too.
        at_exit { finish }
        guarded("some ends of this process will write no profile") { arrange }
      end

      # Writes the profile and ends the recording.
      def finish
        reported("the profile was lost") { |say| @recording.finish(&say) }
      end

      # Writes the profile within {DEADLINE}, as for exit!, which must not be delayed.
      def finish_in_time
        reported("the profile was lost") { |say| @recording.finish(within: DEADLINE, &say) }
      end

      # Writes the profile so far, where this process ends silently: as it becomes a daemon.
      def write_partial
        reported("the profile was lost") { |say| @recording.write_partial(&say) }
      end

      # Runs the block, which calls exec.
      def around_exec(&exec)
        @recording.around_exec(&exec)
      end

      # Pauses and writes, or resumes.
      def toggle
        reported("the profile was not written") { |say| @recording.toggle(&say) }
      end

      private

      def arrange
        require_relative "autoload/ends"
        Ends.watch
        settings = @recording.settings
        # In a thread, as a trap may not wait for a lock of the thread that it interrupts.
        trap(settings.signal) { BackgroundThread.new("profiler signal") { toggle } } if settings.signal
        end_after(settings.duration) if settings.duration
      end

      def end_after(seconds)
        BackgroundThread.new("profiler duration") do
          sleep(seconds)
          finish
        end
      end

      def reported(what)
        guarded(what) do
          line = yield(method(:say))
          say(line) if line
        end
      end

      # Handles errors of the recording. The app's own end, by a signal or exit, is never stopped.
      def guarded(what)
        yield
      rescue SystemExit, SignalException
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException -- a LoadError, or no memory: the app goes on
        say("#{what}: #{reason(e)}")
      end

      def reason(error)
        error.message.to_s.lines.first.to_s.chomp
      rescue Exception # rubocop:disable Lint/RescueException -- an app's own error can raise here again: its class will do
        error.class
      end

      # Prints to the real stderr, whatever $stderr is, even with -W0.
      def say(line)
        STDERR.puts("[profiler] #{line}")
      rescue IOError, SystemCallError
        nil # closed, or nobody reads it: there is no other place to complain
      end
    end
  end
end

Profiler::Autoload.start
