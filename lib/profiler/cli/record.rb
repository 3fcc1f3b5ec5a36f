# frozen_string_literal: true

require "tempfile"

require_relative "../autoload/claim"
require_relative "../autoload/settings"
require_relative "child_process"
require_relative "command"

module Profiler
  module CLI
    # +profiler record -- CMD+: runs a command with the profiler in every Ruby that it starts, and exits with its status.
    class Record < Command
      Settings = Autoload::Settings

      SUMMARY = "Runs a command and records a profile of it."
      USAGE = "record [options] -- COMMAND [ARGUMENTS]"
      EXAMPLES = <<~TEXT
        profiler record -- ruby app.rb
        profiler record --out cpu.pb.gz --out cpu.svg -- bundle exec rspec
        profiler record --frequency 200 --quiet -- bin/rails runner Report.new.call

        The first Ruby process writes the file, others that the command starts write beside it, with their
        pid in the name (cpu.4711.pb.gz), and so do processes that are forked. SIGKILL writes nothing. The
        status is the command's; 128+N if signal N killed it, 127 if it was not found, 126 if it cannot be run.
      TEXT

      # Options that become variables for the program, with their help.
      VARIABLES = {
        "--mode MODE" => [Settings::MODE, "what to measure: cpu (the default), wall, allocations, heap; several with commas between"],
        "--interval US" => [Settings::INTERVAL, "microseconds between two samples of a thread (default 1000)"],
        "--frequency HZ" => [Settings::FREQUENCY, "samples a second, in place of --interval"],
        "--max-overhead SHARE" => [Settings::MAX_OVERHEAD, "share of the CPU time that profiling may take, as 0.01"],
        "--every N" => [Settings::EVERY, "sample one of every N objects, in modes allocations and heap (default 1000)"],
        "--every-bytes N" => [Settings::EVERY_BYTES, "sample one object of every N bytes, in place of --every"],
        "--format FORMAT" => [Settings::FORMAT, "of the files, in place of their extensions"],
        "--engine ENGINE" => [Settings::ENGINE, "perf, thread_timer, ticker, setitimer or safepoint (default: the best available)"],
        "--depth N" => [Settings::DEPTH, "frames kept of a stack (default 2048)"],
        "--duration S" => [Settings::DURATION, "seconds after which the files are written; the command goes on"],
        "--signal NAME" => [Settings::SIGNAL, "a signal that pauses (and writes) and resumes, as USR2"]
      }.freeze

      # Names of keywords in errors of {Session.check}: "interval:" becomes "--interval".
      KEYWORD = /(?<![\w-])(mode|interval|frequency|max_overhead|every|every_bytes|depth|engine|format|duration|signal|label):( |\z)/
      SYMBOL = /(?<=[ \[]):(?=["\w])/

      def initialize
        super
        # All are set or cleared: values of an outer profiler or a shell are not ours.
        @env = Settings::NAMES.to_h { |name| [name, nil] }
        @outs = []
        @labels = []
      end

      private

      # The rest is the command, with its own options.
      def options_anywhere?
        false
      end

      def define(parser)
        parser.on("-o", "--out FILE", "file to write; may be repeated; its extension selects the format",
                  "(default #{Settings.default_out.sub(/\d+-\d+/, "DATE-TIME")})") { |file| @outs << file }
        VARIABLES.each do |option, (variable, text)|
          parser.on(option, text) { |value| @env[variable] = non_empty(option, value) }
        end
        parser.on("--trim-path [DIR]", "short paths, so that deploys compare: under DIR (default: where the command",
                  "starts) relative, gem:NAME/..., ruby:...") { |root| @env[Settings::TRIM_PATH] = root ? File.expand_path(root) : "1" }
        parser.on("--fibers", "label samples with the number of their fiber") { @env[Settings::FIBERS] = "1" }
        parser.on("--timeline", "keep timeline events: about 10 bytes each in .pb.gz, the last million") do
          @env[Settings::TIMELINE] = "1"
        end
        parser.on("--start-paused", "record nothing before the signal") { @env[Settings::START_PAUSED] = "1" }
        parser.on("--label NAME=VALUE", "a label for every sample; may be repeated") { |label| @labels << non_empty("--label", label) }
        parser.on("-q", "--quiet", "no summary on stderr") { @env[Settings::QUIET] = "1" }
      end

      # Refuses empty values: an empty variable counts as none, so the option would be ignored.
      def non_empty(option, value)
        return value unless value.empty?

        raise UsageError, "#{option[/\S+/]} \"\" is empty (see profiler record --help)"
      end

      def call(command)
        raise UsageError, "which command? (profiler #{USAGE})" if command.empty?

        load_profiler
        @env[Settings::LABELS] = @labels.join(",") unless @labels.empty?
        @env[Settings::OUT] = paths.join("\n")
        check
        record(command)
      end

      # Absolute paths, as the command may change the directory before it starts a Ruby.
      def paths
        outs = @outs.empty? ? [Settings.default_out(@env[Settings::FORMAT])] : @outs
        outs.map do |file|
          path = File.expand_path(non_empty("--out", file))
          raise UsageError, "--out #{path.inspect} contains a line break, which is not supported" if path.include?("\n")

          path
        end
      end

      def check
        Settings.new(@env.compact).check
      rescue ArgumentError, Unsupported => e
        raise UsageError, in_terms_of_options(e.message)
      rescue Settings::Unwritable => e
        raise Failure, e.message
      end

      # The message of a session's keyword, as of the option that sets it.
      def in_terms_of_options(message)
        message.gsub(KEYWORD) { "--#{$1.tr("_", "-")}#{$2}" }.gsub(SYMBOL, "").sub("an Array of these", "or several with commas between")
               .sub(/(?<=--mode )\[(.*?)\]/) { $1.empty? ? "\"\"" : $1.delete(" ") }
      end

      def record(command)
        ledger = new_ledger
        status = ChildProcess.new(environment(ledger), command).run
        print_summary(command.first, status, Autoload::Claim.written(ledger))
        ChildProcess.exit_status(status)
      ensure
        File.delete(ledger) if ledger && File.exist?(ledger)
      end

      # See {Autoload::Claim}. Readable by us alone.
      def new_ledger
        Tempfile.create("profiler-ledger").tap(&:close).path
      rescue SystemCallError, ArgumentError => e # the latter is Dir.tmpdir's
        raise Failure, "cannot make a temporary file: #{e.message}"
      end

      def environment(ledger)
        lib = File.expand_path("../..", __dir__)
        @env.merge(
          Settings::LEDGER => ledger,
          "RUBYOPT" => ["-rprofiler/autoload", ENV["RUBYOPT"]].compact.join(" ").strip,
          # Also for a program under Bundler, whose Gemfile does not contain this gem.
          "RUBYLIB" => [lib, ENV["RUBYLIB"]].compact.reject(&:empty?).join(File::PATH_SEPARATOR)
        )
      end

      # Prints where the files of further processes are. The first process has named its own.
      def print_summary(program, status, written)
        return nothing_written(program, status) if written.empty?

        others = written.uniq.size - @outs.size.clamp(1, nil)
        return if others < 1 || @env[Settings::QUIET]

        warn "[profiler] #{others} more file#{"s" unless others == 1} of other processes " \
             "beside it; profiler merge adds them up"
      end

      def nothing_written(program, status)
        why =
          if status.signaled?
            "#{program} was killed by #{ChildProcess.signal_name(status)}"
          else
            "#{program} is not a Ruby program, or has printed an error above"
          end
        CLI.complain "no profile was written: #{why}"
      end
    end
  end
end
