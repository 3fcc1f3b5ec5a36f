# frozen_string_literal: true

require_relative "../autoload/settings"
require_relative "progress"

module Profiler
  module CLI
    # Reads and writes profiles for commands. Errors name the file.
    module Files
      TO_STDOUT = "-"

      private

      def out_option(parser)
        default = Autoload::Settings.default_out.sub(/\d+-\d+/, "DATE-TIME")
        parser.on("-o", "--out FILE", "file to write; its extension selects the format; may be repeated (default #{default})") { |file| @outs << file }
      end

      def trim_option(parser)
        parser.on("--trim-path [DIR]", "shorten paths, so that deploys can be compared: gem:NAME/..., ruby:..., and relative to DIR; may be repeated") do |root|
          (@roots ||= []) << (root && CLI.path(root))
        end
      end

      def full_paths_option(parser)
        parser.on("--full-paths", "do not shorten paths, however long the lines") { @full_paths = true }
      end

      # @return [Profile] with paths as people read them, unless these are to be whole
      def short(profile)
        @full_paths ? profile : profile.trim_path(Dir.pwd)
      rescue SystemCallError
        profile # the working directory was removed
      end

      def gc_option(parser)
        parser.on("--gc PLACE", "where to show garbage collection: root (all in one place) or ignore (nowhere); by default under the code that caused it") { |place| @gc = place }
      end

      def json_option(parser)
        parser.on("--json", "print JSON: file, format, bytes, samples, and totals by type") { @json = true }
      end

      # @param path [String] a .pb.gz, or another format that can be read
      # @return [Profile]
      def read(path)
        load_profiler
        profile = Profile.load(path)
        profile = placed(profile) if @gc
        @roots ? profile.trim_path(*@roots.compact) : profile
      rescue SystemCallError => e
        raise Failure, "cannot read #{path}: #{CLI.reason(e)}"
      rescue FormatError => e
        raise Failure, e.message
      end

      def placed(profile)
        return profile.gc(@gc.to_sym) if %w[root ignore].include?(@gc)

        raise UsageError, "--gc #{@gc} is not allowed (allowed: root, ignore)"
      end

      # Writes the profile that the block returns. The output is checked before the block runs. A file is replaced atomically,
      # so that the block may read it, and stays unchanged if the block fails.
      #
      # @param path [String] a file, or {TO_STDOUT}
      # @param format [String, nil] by the path's extension when nil
      # @param inputs [Array<String>] files that the block reads
      # @param options [Hash] for {Profile#dump}
      def write(path, format, inputs:, **options, &block)
        load_profiler
        return write_file(path, format, inputs, **options, &block) unless path == TO_STDOUT
        raise UsageError, "--json and a profile cannot both go to stdout" if @json

        checked { Native.check_format(format) }
        profile = yield
        $stdout.binmode.write(checked { profile.dump(format, **options) })
      end

      def write_file(path, format, inputs, **options)
        output = checked(path) { Output.new(path, format: format, **options) }
        format ||= Native.format_of(path)
        refuse_to_lose_input(path, format, inputs)
        profile = yield
        checked(path) { output.write(profile) }
        list_sources(profile)
        print_json(file: path, format: format, bytes: File.size(path), samples: profile.stats[:samples], totals: profile.totals) if @json
      end

      # Lists the files whose text is in the page, as the page may be sent to other people.
      def list_sources(profile)
        return unless profile.sources

        paths = profile.sources.map { |it| Native.clean(it) }
        CLI.complain("the page contains the source of #{paths.size} file#{"s" unless paths.size == 1}#{":" if paths.any?}")
        paths.sort.each { |it| $stderr.puts("  #{it}") }
      end

      def checked(path = nil)
        yield
      rescue ArgumentError => e
        raise UsageError, e.message
      rescue SystemCallError => e
        raise Failure, "cannot write #{path}: #{CLI.reason(e)}"
      rescue FormatError => e
        raise Failure, "cannot write #{path || "to stdout"}: #{e.message}"
      end

      # Refuses to replace an input by a format that cannot be read again. A .pb.gz keeps everything.
      def refuse_to_lose_input(path, format, inputs)
        return if format == "pprof" || inputs.none? { |input| File.identical?(input, path) }

        raise UsageError, "#{path} is also an input, and #{format} cannot hold all of its data: write to another file"
      end
    end
  end
end
