# frozen_string_literal: true

require_relative "files"

module Profiler
  module CLI
    # Options that select a part of a profile and a sample type.
    module Options
      include Files

      private

      def filter_options(parser)
        type_option(parser)
        parser.on("--thread RE", "only threads whose name matches RE") { |text| filters[:thread] = pattern("--thread", text) }
        parser.on("--focus RE", "only stacks with a matching function, or with a matching path if RE contains a /") { |text| filters[:focus] = pattern("--focus", text) }
        parser.on("--ignore RE", "leave out stacks with a matching function") { |text| filters[:ignore] = pattern("--ignore", text) }
        parser.on("--hide RE", "hide matching functions; their weight is added to their callers'") { |text| filters[:hide] = pattern("--hide", text) }
        parser.on("--app-only", "hide functions of gems, of Ruby and in C") { filters[:app_only] = true }
        parser.on("--during RE", "only what threads did in markers whose name matches RE; needs a timeline") { |text| filters[:during] = pattern("--during", text) }
        parser.on("--over DURATION", "with --during, only markers that took longer, such as 200ms or 1.5s") { |text| filters[:over] = duration("--over", text) }
        trim_option(parser)
        gc_option(parser)
      end

      # Styles of a picture, in the help.
      STYLES = "style of a picture: icicle (default), flame, reverse (callers of the heaviest functions) or flamechart (ordered by time; needs a timeline)"

      # The units of a duration: how many there are in a second.
      UNITS = { "us" => 1e6, "ms" => 1e3, "s" => 1 }.freeze
      private_constant :UNITS

      def idle_option(parser)
        parser.on("--idle", "include the waits of idle threads, which wall clock time leaves out by default") { @idle = true }
      end

      def source_option(parser)
        parser.on("--source", "embed the Ruby files of this directory and of gems in the page, and list them; files that look secret are left out") { @source = true }
      end

      def type_option(parser)
        parser.on("--type NAME", "sample type: cpu, wall, alloc_space, ... (default: a time, or else the last one)") { |name| @type = CLI.text(name) }
      end

      def filters
        @filters ||= {}
      end

      def pattern(option, text)
        Regexp.new(CLI.text(text))
      rescue RegexpError => e
        raise UsageError, "#{option} #{text.inspect} is not a regular expression: #{e.message}"
      end

      # @return [Float] seconds
      def duration(option, text)
        number, unit = text.match(/\A(\d+(?:\.\d+)?)(us|ms|s)\z/)&.captures
        raise UsageError, "#{option} #{text.inspect} is not a duration (allowed: such as 500us, 200ms or 1.5s)" unless number

        Float(number) / UNITS.fetch(unit)
      end

      # @return [Profile] the selected part of the file
      def read_filtered(path)
        selected(path, read(path))
      end

      # @return [Profile] the same without the waits of idle threads, unless these are requested. A part of a profile does not show
      #   which threads are idle.
      def read_busy(path)
        profile = read(path)
        selected(path, @idle || type_of(profile) != "wall" ? profile : profile.without_idle)
      end

      def selected(path, profile)
        @filters ? profile.filter(**@filters) : profile
      rescue ArgumentError => e
        raise Failure, "#{path}: #{e.message}"
      end

      # Runs the block, and adds the file's name to errors about the profile.
      def with_file_in_errors(path)
        yield
      rescue ArgumentError => e
        raise Failure, "#{path}: #{e.message}"
      end

      # Returns the name of the sample type that is shown.
      def type_of(profile)
        @type || Native.default_type(profile)
      end

      # Loads are compared in one unit.
      def require_one_type(before, after, path)
        earlier, later = [before, after].map { |profile| Native.default_type(profile) }
        return if earlier == later

        raise Failure, "#{path} has #{earlier} time and the other profile #{later} time: record both with the same --mode"
      end

      def amount(type, weight)
        Native.amount(type, weight)
      end

      # Escapes a name: one line, harmless to a terminal, and never empty.
      def clean(name)
        text = Native.clean(CLI.text(name))
        text.empty? ? "(no name)" : text
      end

      # Returns the named file, or else the newest profile in the working directory.
      def one_file(arguments)
        arguments.empty? ? newest_file : expected(arguments, 1, "one FILE").first
      end

      # Returns the newest profile in the working directory, and names it on stderr.
      def newest_file
        path = Dir.glob("*.pb.gz").select { |it| File.file?(it) }.max_by { |it| File.mtime(it) }
        raise UsageError, "no FILE given, and there is no .pb.gz in this directory (usage: profiler #{self.class::USAGE})" unless path

        load_profiler
        CLI.complain "reading #{clean(path)}, the newest profile here"
        path
      rescue SystemCallError => e
        raise Failure, "cannot list this directory: #{CLI.reason(e)}"
      end

      # Shortens the text as {Lines#fit} does, unless whole paths are requested.
      def fit(text, columns)
        @full_paths ? text : super
      end

      # @return [Array<Profile>] the profiles of {Encodings#files}, each a run of one side
      def runs(text)
        files = CLI.files(text)
        raise UsageError, "#{text.inspect} names no file" if files.empty?

        Progress.new.each("reading", files) { |path| read_filtered(path) }
      end

      # Returns the options of the comparison of two sides.
      def diff_options
        { total: @sort == :total, absolute: @absolute ? true : false, terminal: $stdout.tty?, **table_options }
      end

      # Returns the options of the tables that the extension prints.
      def table_options = { type: @type, columns: columns, full_paths: @full_paths, color: @colored }.compact

      # Parses the value of +--limit+.
      def limit_of(text) = whole_number("--limit", text, "a limit (allowed: a whole number; 0 for all)")

      def share(option, text)
        found = text[/\A(\d+(?:\.\d+)?)%?\z/, 1]
        return Float(found) / 100 if found

        raise UsageError, "#{option} #{text.inspect} is not a share like 5%"
      end
    end
  end
end
