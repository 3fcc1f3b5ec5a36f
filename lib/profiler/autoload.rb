# frozen_string_literal: true

# Profiles the whole process: +ruby -rprofiler/autoload app.rb+, or the same in RUBYOPT. Starts when it is
# loaded, and writes the profile when the process ends: normally, by an exception, by exit or abort, or by
# a signal that Ruby turns into an exception (INT, TERM, HUP). exit! and SIGKILL write nothing, and a
# process that turns into another program (exec) takes its profile with it.
#
#   PROFILER_MODE=cpu PROFILER_OUT=app.pb.gz ruby -rprofiler/autoload app.rb
#
# The variables are in autoload/settings.rb. Whatever is wrong with them, with this Ruby or with the disk
# is one line on stderr; the app runs on as if we were not there. A process that was forked is not
# profiled, unless it becomes another Ruby by exec.
module Profiler
  # See the top of the file.
  module Autoload
    class << self
      # Starts, and arranges for the end. Never raises.
      def start
        return if defined?(@recording)

        @recording = nil
        guarded("this process is not profiled") do
          require_relative "autoload/recording"
          @recording = Recording.start
        end
        # Blocks of at_exit run last first: what the app does in its own is profiled too.
        at_exit { finish } if @recording
      end

      private

      def finish
        guarded("the profile was lost") do
          summary = @recording.finish { |problem| say(problem) }
          say(summary) if summary
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
