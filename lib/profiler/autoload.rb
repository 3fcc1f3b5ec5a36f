# frozen_string_literal: true

# Profiles the whole process: +ruby -rprofiler/autoload app.rb+, or the same in RUBYOPT. Starts when it is
# loaded, and writes the profile when the process ends: normally, by an exception, by exit, abort or exit!, by
# a signal that Ruby turns into an exception (INT, TERM, HUP), by becoming a daemon, or by turning into
# another program (exec). SIGKILL writes nothing. A forked child goes on as a recording of its own, and
# writes a file with its pid in the name.
#
#   PROFILER_MODE=cpu PROFILER_OUT=app.pb.gz ruby -rprofiler/autoload app.rb
#
# The variables are in autoload/settings.rb. Whatever is wrong with them, with this Ruby or with the disk
# is one line on stderr; the app runs on as if we were not there.
module Profiler
  # See the top of the file.
  module Autoload
    # Seconds that exit! waits for the profile to be written.
    DEADLINE = 5

    class << self
      # Starts, and arranges for the end. Never raises.
      def start
        return if defined?(@recording)

        @recording = nil
        guarded("this process is not profiled") do
          require_relative "autoload/recording"
          @recording = Recording.start
        end
        return unless @recording

        # Blocks of at_exit run last first: what the app does in its own is profiled too.
        at_exit { finish }
        guarded("some ends of this process will write no profile") { arrange }
      end

      # Writes the profile and ends the recording.
      def finish
        reported("the profile was lost") { |say| @recording.finish(&say) }
      end

      # As {finish}, where the process ends at once and must not be kept: by exit!.
      def finish_in_time
        reported("the profile was lost") { |say| @recording.finish(within: DEADLINE, &say) }
      end

      # Writes the profile so far, where this process ends unseen: it becomes a daemon.
      def write_so_far
        reported("the profile was lost") { |say| @recording.write_so_far(&say) }
      end

      # Runs the block, which turns the process into another program.
      def around_exec(&exec)
        @recording.around_exec(&exec)
      end

      # Pauses and writes, or goes on.
      def toggle
        reported("the profile was not written") { |say| @recording.toggle(&say) }
      end

      private

      def arrange
        require_relative "autoload/ends"
        Ends.watch
        settings = @recording.settings
        # In a thread, as a trap may not wait for a lock that the thread it interrupts holds.
        trap(settings.signal) { Thread.new { toggle } } if settings.signal
        end_after(settings.duration) if settings.duration
      end

      def end_after(seconds)
        Thread.new do
          Thread.current.name = "profiler duration"
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

      # The app's own end, a signal or exit, is never ours to stop. All the rest is.
      def guarded(what)
        yield
      rescue SystemExit, SignalException
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException -- a LoadError, or no memory: the app goes on
        say("#{what}: #{e.message.to_s.lines.first.to_s.chomp}")
      end

      # To the real stderr, whatever $stderr is; -W0 does not mean this.
      def say(line)
        STDERR.puts("[profiler] #{line}")
      rescue IOError, SystemCallError
        nil # closed, or nobody reads it: there is no other place to complain
      end
    end
  end
end

Profiler::Autoload.start
