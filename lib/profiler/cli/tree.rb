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

      SUMMARY = "Shows the call tree, with the hot path expanded."
      USAGE = "tree [options] [FILE]"
      EXAMPLES = <<~TEXT
        profiler tree profile.pb.gz
        profiler tree profile.pb.gz --app-only --min 0.5%
        profiler tree profile.pb.gz --focus 'Order#save' --color=always | less -R
        profiler tree profile.pb.gz --json

        Without FILE, the newest profile in this directory is used. A function that is the only callee of its caller is not indented. [+3] is the number of children that are not shown.
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
        parser.on("--all", "expand everything") { @all = true }
        full_paths_option(parser)
        parser.on("--json", "print JSON: file, type, total and tree; weights are whole numbers") { @json = true }
        color_option(parser)
      end

      def call(arguments)
        path = one_file(arguments)
        least = share("--min", @min)
        choose_color
        profile = read_busy(path)
        with_file_in_errors(path) do
          if @json then print_tree(profile, path)
          else puts Native.tree_text(short(profile), { least: least, all: @all, **table_options })
          end
        end
        0
      end

      # Prints each node on a line without an indent or recursion, because a tree can be as deep as its stacks.
      def print_tree(profile, path)
        type = type_of(profile)
        head = json(file: path, type: type, total: profile.totals.fetch(type, 0))
        puts "#{head.delete_suffix("\n}")},\n  \"tree\": ["
        open = [[profile.tree(type: @type), 0]]
        until open.empty?
          nodes, place = open.last
          node = nodes[place]
          open.last[1] += 1
          node ? begin_node(node, place).then { open << [node[:children], 0] } : end_nodes(open)
        end
        puts "}"
      end

      def begin_node(node, place)
        text = JSON.generate(textual(node.reject { |name, _| name == :children }))
        puts "#{"," if place.positive?}#{harmless(text).delete_suffix("}")},\"children\":["
      end

      def end_nodes(open)
        open.pop
        puts open.empty? ? "]" : "]}"
      end
    end
  end
end
