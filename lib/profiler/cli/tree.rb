# frozen_string_literal: true

require_relative "color"
require_relative "options"
require_relative "command"

module Profiler
  module CLI
    # +profiler tree FILE+: the call tree, with the hot path open.
    class Tree < Command
      include Color
      include Options

      SUMMARY = "Shows the call tree, with the hot path open."
      USAGE = "tree [FILE] [options]"
      EXAMPLES = <<~TEXT
        profiler tree profile.pb.gz
        profiler tree profile.pb.gz --app-only --min 0.5%
        profiler tree profile.pb.gz --focus 'Order#save' --color=always | less -R
        profiler tree profile.pb.gz --json

        An only callee is not indented. [+3] counts the children that are not shown.
      TEXT

      # The share of the whole from which a function is open, hot path or not.
      OPEN = 0.1

      def initialize
        super
        @min = "1%"
      end

      private

      def define(parser)
        filter_options(parser)
        idle_option(parser)
        parser.on("--min SHARE", "omit functions below this share of the whole (default 1%)") { |text| @min = text }
        parser.on("--all", "open everything") { @all = true }
        full_paths_option(parser)
        parser.on("--json", "print JSON: file, type, total and tree; weights are whole numbers") { @json = true }
        color_option(parser)
      end

      def call(arguments)
        path = one_file(arguments)
        min = share("--min", @min)
        choose_color
        profile = read_busy(path)
        @shown = type_of(profile)
        roots = with_file_in_errors(path) { (@json ? profile : short(profile)).tree(type: @type) }
        @total = profile.totals.fetch(@shown, 0)
        return print_json(file: path, type: @shown, total: @total, tree: roots) || 0 if @json

        @min = @all ? 0 : min * @total
        puts bold("#{@shown}: #{amount(@shown, @total)} in all")
        puts
        puts bold("#{"TOTAL".rjust(16)}  #{"SELF".rjust(9)}  FUNCTION")
        print_tree(roots)
        0
      end

      # Without recursion, as stacks can be deep.
      def print_tree(roots)
        todo = entries(roots, 0, true)
        until todo.empty?
          node, depth, hot = todo.shift
          next puts("#{" " * 29}#{indentation(depth)}#{dim(node)}") if node.is_a?(String)

          open = @all || hot || node[:total] >= OPEN * @total
          puts line(node, depth, open)
          inner = node[:children].size > 1 ? depth + 1 : depth
          todo.unshift(*entries(node[:children], inner, hot)) if open
        end
      end

      # The heaviest child continues the hot path; light ones are combined into one line.
      def entries(nodes, depth, hot)
        shown, light = nodes.partition { |it| it[:total] >= @min }
        rows = shown.each_with_index.map { |it, place| [it, depth, hot && place.zero?] }
        return rows if light.empty?

        sum = light.sum { |it| it[:total] }
        rows << ["#{light.size} more: #{amount(@shown, sum)} #{percent(sum, @total)}", depth, false]
      end

      def line(node, depth, open)
        closed = " [+#{node[:children].size}]" unless open || node[:children].empty?
        total = amount(@shown, node[:total]).rjust(9)
        part = warm(percent(node[:total], @total).rjust(6), node[:total].to_f / [@total, 1].max)
        indent = indentation(depth)
        available = columns - 29 - indent.size - closed.to_s.size
        name = fit(clean(node[:name]), available)
        rest = available - name.size - 2
        location = "  #{dim(fit(place(node), rest))}" if @full_paths || (rest > 12 && !place(node).empty?)
        "#{total} #{part}  #{amount(@shown, node[:self]).rjust(9)}  #{indent}#{name}#{closed}#{location}".rstrip
      end

      # Deep calls are indented no further than leaves space for their names.
      def indentation(depth)
        most = @full_paths ? depth : (columns - 29) / 4
        depth > most ? "#{"  " * (most - 1)}> " : "  " * depth
      end
    end
  end
end
