# frozen_string_literal: true

require_relative "color"
require_relative "options"
require_relative "command"

module Profiler
  module CLI
    # +profiler report FILE+: the heaviest functions, the values of a label, or the details of some methods.
    class Report < Command
      include Color
      include Options

      SUMMARY = "Shows the heaviest functions of a recorded profile."
      USAGE = "report [options] [FILE]"
      EXAMPLES = <<~TEXT
        profiler report profile.pb.gz
        profiler report profile.pb.gz --limit 10 --sort-total
        profiler report profile.pb.gz --app-only --ignore 'Logger'
        profiler report profile.pb.gz --by thread
        profiler report profile.pb.gz --method 'Order#save'
        profiler report profile.pb.gz --markers --limit 10
        profiler report profile.pb.gz --md >> "$GITHUB_STEP_SUMMARY"
        profiler report profile.pb.gz --color=always | less -R
        profiler report profile.pb.gz --json | jq -r '.top[] | "\\(.self) \\(.name)"'

        Without FILE, the newest profile in this directory is used. FILE is a .pb.gz or .html that profiler wrote, any other pprof, the JSON of vernier, rperf, stackprof, speedscope or the
        Firefox Profiler, or folded stacks.
      TEXT

      def initialize
        super
        @limit = "30"
        @sort = :self
      end

      private

      def define(parser)
        filter_options(parser)
        idle_option(parser)
        parser.on("--sort-total", "sort by total weight, which includes callees") { @sort = :total }
        parser.on("--limit N", "functions, values or names to list; 0 for all (default 30)") { |value| @limit = value }
        parser.on("--by LABEL", "list the values of a label (or of thread, state, package, gem, file or class), with their heaviest functions and requests") { |label| @by = label }
        parser.on("--method RE", "details of matching methods: callers, callees, and source lines") { |text| @method = pattern("--method", text) }
        parser.on("--requires", "list the files that were loaded, each under the file that required it, with sums by package; --limit 0 for all") { @requires = true }
        parser.on("--markers", "list markers, such as SQL statements, by name: how many, how long, and with a timeline where") { @markers = true }
        full_paths_option(parser)
        parser.on("--json", "print JSON: file, findings, sort, meta, stats and top (with --by: file, by, meta, stats and values; " \
                            "with --method: file, type, total and methods; with --markers: file, meta, stats and markers; with --requires: file, meta, stats and requires); " \
                            "times are nanoseconds") { @json = true }
        parser.on("--md", "print Markdown for GitHub") { @md = true }
        color_option(parser)
      end

      def call(arguments)
        path = one_file(arguments)
        limit = limit_of(@limit)
        choose_color
        refuse
        profile = read_busy(path)
        with_file_in_errors(path) { show(path, profile, limit) }
        0
      end

      def refuse
        raise UsageError, "--sort-total orders functions, but --by lists values: pass one of them" if @by && @sort == :total

        raise UsageError, "--sort-total orders functions, but --markers lists markers: pass one of them" if @markers && @sort == :total

        selected = { "--by" => @by, "--method" => @method, "--md" => @md, "--requires" => @requires, "--markers" => @markers }.compact.keys
        raise UsageError, "#{selected.join(" and ")} cannot be combined" if selected.size > 1
        raise UsageError, "--md and --json cannot be combined" if @md && @json
      end

      def show(path, profile, limit)
        if @method then show_methods(path, profile, limit)
        elsif @requires && !@json then puts Native.requires_text(profile, { all: limit.zero?, **table_options.except(:type) })
        elsif @markers && !@json then puts Native.markers_text(profile, { limit: limit, **table_options.except(:type) })
        elsif @json then print_json(json_report(path, profile, limit))
        elsif @md then puts short(profile).dump(:markdown, limit: limit, type: @type)
        else
          width = columns unless @full_paths
          puts short(profile).report(limit: limit, sort: @sort, color: @colored, by: @by, type: @type, width: width, idle: true)
        end
      end

      def show_methods(path, profile, limit)
        if @json
          type = type_of(profile)
          return print_json(file: path, type: type, total: profile.totals.fetch(type, 0), methods: profile.find_methods(@method, type: @type))
        end
        puts profile.methods_text(@method, limit: limit, roots: ["."], **table_options)
      end

      def json_report(path, profile, limit)
        header = { meta: profile.meta, stats: profile.stats }
        return { file: path, by: @by, **header, values: profile.by(@by, limit: limit, type: @type) } if @by
        return { file: path, **header, requires: Native.requires(profile) } if @requires
        return { file: path, **header, markers: profile.marker_sums(limit: limit) } if @markers

        { file: path, findings: profile.findings, sort: @sort, **header, top: profile.top(limit: limit, sort: @sort, type: @type) }
      end
    end
  end
end
