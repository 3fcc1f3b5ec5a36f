# frozen_string_literal: true

require "tmpdir"

require_relative "../autoload/claim"
require_relative "answer"
require_relative "child_process"
require_relative "color"
require_relative "command"
require_relative "session_options"
require_relative "signals"
require_relative "view"

module Profiler
  module CLI
    # +profiler record -- CMD+: runs a command with the profiler in every Ruby that it starts, says what took the time, and exits
    # with the command's status.
    class Record < Command
      include Color
      include SessionOptions
      include Signals

      SUMMARY = "Runs a command, records a profile, and shows where its time went."
      USAGE = "record [options] -- COMMAND [ARGUMENTS]"
      EXAMPLES = <<~TEXT
        profiler record -- ruby app.rb
        profiler ruby app.rb
        profiler record --out cpu.pb.gz --out cpu.html -- bundle exec rspec
        profiler record --frequency 200 --quiet -- bin/rails runner Report.new.call
        profiler record --pid 4711 --duration 10 --out now.html

        The first Ruby process writes the file. Each further one, started or forked, writes a file of its own beside it, with
        its pid in the name (cpu.4711.pb.gz). A process that is killed by SIGKILL writes nothing. The exit status is the
        command's: 128+N if signal N killed it, 127 if it was not found, 126 if it cannot be run.
      TEXT

      # Options of Ruby with which it runs no program.
      RUN_NOTHING = %w[-c -h --help --version --copyright --dump].freeze
      # Features of Ruby without which it ignores RUBYOPT: <tt>--disable=all</tt>. Their names can be shortened.
      FEATURES = %w[all rubyopt].freeze
      # The number of bytes that must fit for temporary files.
      OWN_BYTES = 1 << 16

      def initialize
        super
        @outs = []
        @labels = []
      end

      private

      # Returns false: what follows the options is the command, with options of its own.
      def options_anywhere?
        false
      end

      def define(parser)
        output_options(parser)
        variable_options(parser, VARIABLES)
        parser.on("--trim-path [DIR]", "shorten paths, so that deploys can be compared: gem:NAME/..., ruby:..., and relative to DIR (default: where the command starts)") do |root|
          @env[Settings::TRIM_PATH] = root ? FileName.absolute(CLI.path(root)) : "1"
        end
        detail_options(parser, "default with .html")
        parser.on("--start-paused", "start paused, until the signal of --signal arrives") { @env[Settings::START_PAUSED] = "1" }
        parser.on("--label NAME=VALUE", "add a label to every sample; may be repeated") { |label| @labels << CLI.text(non_empty("--label", label)) }
        parser.on("--memory", "keep where the memory is at the end, and what grew since the start") { @env[Settings::MEMORY] = "1" }
        parser.on("--control", "open a control socket in each process, for profiler ps, dump, top and start") { @env[Settings::CONTROL] = "1" }
        parser.on("--pid PID", "record a running process, for --duration or until Ctrl-C; profiler ps lists them") { |process| @process = process }
        attach_option(parser)
        parser.on("-q", "--quiet", "do not print the summary") { @env[Settings::QUIET] = "1" }
        parser.on("--json", "print the summary as JSON on stderr: resources, findings and files") { @json = true }
        color_option(parser)
      end

      def output_options(parser)
        out_option(parser)
        parser.on("--format FORMAT", "format of the files, whatever their extensions") { |format| @env[Settings::FORMAT] = non_empty("--format", format) }
        parser.on("--open", "open the page in a browser at the end; implies --timeline") do
          @open = true
          @env[Settings::TIMELINE] = "1"
        end
      end

      def call(command)
        return record_process(command) if @process
        raise UsageError, "--attach needs --pid" if @attach
        raise UsageError, "no COMMAND given (usage: profiler #{self.class::USAGE})" if command.empty?

        load_profiler
        @colored = Color.enabled?(@color || "auto", $stderr)
        @env[Settings::LABELS] = Settings.join_labels(@labels) unless @labels.empty?
        @paths = paths
        in_own_directory { |directory| run_in(directory, command) }
      end

      # Runs the block with a directory for temporary files, which only this user can read.
      def in_own_directory
        directory = own_directory
        yield directory
      ensure
        FileUtils.rm_rf(directory) if directory
      end

      # Creates a temporary directory: beside the profile if the system's own is full.
      def own_directory
        reasons = [nil, *@paths.map { |it| File.dirname(it) }].uniq.map do |place|
          directory = Dir.mktmpdir(place ? ".profiler-record-" : "profiler-record-", place)
          File.write(File.join(directory, "probe"), "\0" * OWN_BYTES)
          File.delete(File.join(directory, "probe"))
          return directory
        rescue SystemCallError, ArgumentError => e # the latter is Dir.tmpdir's
          FileUtils.rm_rf(directory) if directory
          e.is_a?(SystemCallError) ? "#{place || Dir.tmpdir}: #{CLI.reason(e)}" : e.message
        end
        raise Failure, "no temporary directory is writable (#{reasons.join("; ")})"
      end

      def run_in(directory, command)
        @unkept = File.join(directory, "it.pb.gz") if @paths.empty? || unreadable?
        @env[Settings::OUT] = [*@paths, *@unkept].join("\n")
        check
        record(File.join(directory, "claims"), command)
      end

      # Returns whether no file could be read again, as the findings need it.
      def unreadable?
        !@env[Settings::QUIET] && !@env[Settings::FORMAT] && readable(@paths).empty?
      end

      # Returns the files in profiler's own format, which lose nothing of a profile.
      def readable(paths)
        format = @env[Settings::FORMAT]
        paths.select { |it| (format || format_of(it)) == "pprof" }
      end

      def format_of(path)
        Native.format_of(path)
      rescue ArgumentError
        nil # {#check} says so
      end

      # Returns absolute paths, as the command may change the directory before it starts a Ruby.
      def paths
        outs = @outs.empty? ? [Settings.default_out(@env[Settings::FORMAT])] : @outs
        outs.map do |file|
          path = FileName.absolute(CLI.path(non_empty("--out", file)))
          raise UsageError, "--out #{path.inspect} contains a line break, which is not supported" if path.include?("\n")

          path
        end
      end

      # @param claims [String] the path of a file, see {Autoload::Claim}
      def record(claims, command)
        File.write(claims, "", perm: 0o600)
        began = Clock.now
        status = ChildProcess.new(environment(claims), command).run
        took = Clock.now - began
        written, used = Autoload::Claim.read(claims)
        end_with(took, written.uniq, used, command, status)
        ChildProcess.exit_status(status)
      end

      def environment(claims)
        lib = File.expand_path("../..", __dir__)
        @env.merge(
          Settings::CLAIMS => claims,
          "RUBYOPT" => ["-rprofiler/autoload", ENV["RUBYOPT"]].compact.join(" ").strip,
          # RUBYLIB also works for a program under Bundler whose Gemfile does not contain this gem.
          "RUBYLIB" => [lib, ENV["RUBYLIB"]].compact.reject(&:empty?).join(File::PATH_SEPARATOR)
        )
      end

      # Records a process that is already running. The session ends when this command ends, for whatever reason.
      def record_process(command)
        raise UsageError, "pass a command or --pid, not both: #{command.join(" ")} (usage: profiler #{self.class::USAGE})" unless command.empty?

        refuse_what_needs_a_command
        load_profiler
        @env[Settings::LABELS] = Settings.join_labels(@labels) unless @labels.empty?
        @paths = paths
        @env[Settings::OUT] = @paths.join("\n")
        check
        seconds = Settings.new(@env.compact).duration
        with_client(@process) do |client|
          until_a_signal do |ended|
            number = begin_in(client, bound: true, farewell: true)
            profile = client.gone_within?(seconds, ended) ? receive_farewell(client) : receive(client, { do: "stop", session: number }, @paths, @env[Settings::FORMAT])
            say_answer(profile, @paths) unless @env[Settings::QUIET]
          end
          View.new.show(readable(@paths).first) if @open && readable(@paths).any?
        end
        0
      end

      # Writes the profile that the process has sent as it ended.
      #
      # @return [Profile]
      # @raise [Failure] if it was killed
      def receive_farewell(client)
        head, bytes = client.farewell
        raise Failure, "process #{@process} was killed or has crashed, so its profile is lost" unless head

        receive(client, {}, @paths, @env[Settings::FORMAT]) { [head, bytes] }.tap do
          CLI.complain("#{Control::Client.harmless(head["farewell"].to_s)}: this is the profile until then")
        end
      end

      def refuse_what_needs_a_command
        given = { "--json" => @json, "--control" => @env[Settings::CONTROL], "--signal" => @env[Settings::SIGNAL], "--start-paused" => @env[Settings::START_PAUSED],
                  "--memory" => @env[Settings::MEMORY] }
        name, = given.compact.first
        raise UsageError, "#{name} needs a command: it has no effect with --pid" if name
      end

      # Prints the summary, and opens the page. Errors here do not change the exit status, which is the command's.
      def end_with(took, written, used, command, status)
        return nothing_written(command, status) if written.empty?

        kept = written.reject { |it| unkept?(it) }
        named = @paths & kept
        answer = Answer.new(took, used, readable(written), named, kept - named, ended: ended(status)) unless @env[Settings::QUIET]
        say(@json ? json(answer.to_h) : answer.lines(columns($stderr), @colored).join("\n")) if answer
        View.new.show(readable(kept).first) if @open && readable(kept).any?
      rescue Failure, FormatError, SystemCallError, NoMemoryError => e
        CLI.complain(e.message)
      end

      # Describes how a failed command ended.
      def ended(status)
        return "killed by #{ChildProcess.signal_name(status)}" if status.signaled?

        "exit status #{status.exitstatus}" unless status.success?
      end

      def unkept?(path)
        @unkept && File.dirname(path) == File.dirname(@unkept)
      end

      def say(text)
        $stderr.puts(text)
      rescue Errno::EPIPE
        nil # nobody listens
      end

      def nothing_written(command, status)
        program = command.first
        why =
          if status.signaled?
            "#{program} was killed by #{ChildProcess.signal_name(status)}"
          elsif (option = option_without_program(command))
            "#{program} #{option} runs no program"
          elsif (option = option_without_rubyopt(command))
            "#{program} #{option} does not load the profiler, because it ignores RUBYOPT"
          else
            "#{program} is not a Ruby program, or has printed an error above"
          end
        CLI.complain "no profile was written: #{why}"
      end

      # Returns the option that makes Ruby run no program, or nil.
      def option_without_program(command)
        options = options_of_ruby(command)
        options.find { |it| RUN_NOTHING.include?(it) } || ("-v" if options.include?("-v") && options.last == command.last)
      end

      # Returns the option with which Ruby does not load the profiler, or nil.
      def option_without_rubyopt(command)
        options_of_ruby(command).find do |option|
          option[/\A--disable[-=](.+)/, 1]&.split(",")&.any? { |name| FEATURES.any? { |it| it.start_with?(name) } }
        end
      end

      # Returns the options before the script.
      def options_of_ruby((program, *arguments))
        return [] unless File.basename(program).start_with?("ruby")

        options = arguments.slice_when { |argument, _next| argument != "--disable" }.map { |parts| parts.join("=") }
        options.take_while { |option| option.start_with?("-") && option != "-e" }
      end
    end
  end
end
