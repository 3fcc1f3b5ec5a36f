# frozen_string_literal: true

require_relative "color"
require_relative "options"
require_relative "command"

module Profiler
  module CLI
    # +profiler annotate FILE [WHAT]+: source code with the weight of each line.
    class Annotate < Command
      include Color
      include Options

      SUMMARY = "Shows source files with the weight of each line."
      USAGE = "annotate [options] [FILE] [PATH | METHOD]"
      EXAMPLES = <<~TEXT
        profiler annotate profile.pb.gz
        profiler annotate profile.pb.gz lib/shop.rb
        profiler annotate profile.pb.gz 'Shop::Order#save'
        profiler annotate profile.pb.gz lib/shop.rb --source /srv/app --json

        Without FILE, the newest profile in this directory is used. PATH is the end of a path, METHOD a
        qualified name. Without either, the heaviest files of the app are shown. Sources are read from the paths in the profile,
        or found in the directories of --source.
      TEXT

      # Compiled files, which contain no source text.
      COMPILED = /\.(?:so|bundle|dll|o)\z/.freeze

      # The number of files that are shown if none is named.
      FILES = 3

      # A width in columns that exceeds every line of code.
      WHOLE = 1_000
      private_constant :WHOLE

      private

      def define(parser)
        parser.on("--source DIR", "where to find sources; may be repeated (default: this directory)") { |root| (@roots_of_source ||= []) << root }
        filter_options(parser)
        idle_option(parser)
        full_paths_option(parser)
        parser.on("--json", "print JSON: file, type, total and files, by path and line, with self and total") { @json = true }
        color_option(parser)
      end

      def call(arguments)
        path, *rest = arguments.empty? || !profile?(arguments.first) ? [newest_file, *arguments] : arguments
        what, = rest.empty? ? rest : expected(rest, 1, "one path or method")

        choose_color
        profile = read_busy(path)
        files = with_file_in_errors(path) { chosen(profile, what && CLI.text(what)) }
        if @json
          type = type_of(profile)
          print_json(file: path, type: type, total: profile.totals.fetch(type, 0), files: files)
        else
          files = files.map { |it, lines| [it, lines.map { |line, weights| [line, *weights.values_at(:total, :self)] }] }
          # A program gets whole lines of code.
          width = $stdout.tty? || ENV["COLUMNS"] ? {} : { columns: WHOLE }
          puts Native.sources_text(profile, files, { roots: @roots_of_source || ["."], **table_options, **width })
        end
        0
      end

      # Returns whether the first argument names a profile, and not the path of a source or a method.
      def profile?(argument)
        argument.match?(/\.(?:gz|json|folded|pb|pprof|prof)\z/) || (File.file?(argument) && !argument.match?(/\.(?:rb|erb|rake|ru|gemspec)\z/))
      end

      def chosen(profile, what)
        all = profile.lines(type: @type).reject { |path, _| path.empty? || path == "<cfunc>" }
        return heaviest(profile, all) unless what

        found = all.select { |path, _| ends?(path, what) }
        found = of_method(profile, what) if found.empty?
        return found if found.any?

        raise ArgumentError, "no file or method matches #{what.inspect}, or it has no weight (the heaviest files are #{heaviest(profile, all).keys.join(", ")})"
      end

      def ends?(path, what)
        path == what || path.end_with?("/#{what}")
      end

      def heaviest(profile, all)
        own = Native.functions(profile).select { |_, _, _, app| app }.map { |_, path, *| path }.uniq
        all = all.reject { |path, _| path.match?(COMPILED) }
        candidates = all.slice(*own)
        candidates = all if candidates.empty?
        candidates.max_by(FILES) { |_, lines| lines.sum { |_, it| it[:self] } }.to_h
      end

      # Returns the functions with that name. It can look like a file: Foo.rb is as valid a method as Foo.bar.
      def of_method(profile, name)
        return {} unless Native.functions(profile).any? { |it| it[0] == name }

        profile.find_methods(name, type: @type).to_h do |method|
          [method[:path], method[:lines].to_h { |line| [line[:line], line.slice(:self, :total)] }]
        end
      end
    end
  end
end
