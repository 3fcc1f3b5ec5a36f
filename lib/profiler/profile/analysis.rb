# frozen_string_literal: true

module Profiler
  class Profile
    # Queries on profiles: filters, trees, details and comparisons.
    #
    # @api private
    module Analysis
      CHANGE = %i[name path first_line before after samples chance significant verdict weight_before weight_after slower].freeze
      FUNCTION = %i[name path first_line].freeze
      private_constant :CHANGE, :FUNCTION

      class << self
        # Implements {Profile#filter}.
        def filter(profile, patterns, thread, app_only)
          ids = patterns.to_h { |name, pattern| [name, functions_like(profile, pattern, none: name != :focus)] }
          threads = thread && threads_like(profile, thread)
          criteria = patterns.merge({ thread: thread, app_only: app_only || nil }.compact)
          return profile if criteria.empty?

          note = criteria.map { |name, value| value == true ? name.to_s.tr("_", " ") : "#{name} #{value.inspect}" }.join(", ")
          Native.filter(profile, { **ids, threads: threads, app_only: app_only ? true : false, note: "only a part, #{note}" })
        end

        # Implements {Profile#tree}.
        def tree(profile, type)
          nodes, roots = Native.tree(profile, type)
          functions = Native.functions(profile)
          built = Array.new(nodes.size)
          # Nodes are visited backwards, because callers come before their callees. There can be a hundred thousand nodes.
          (nodes.size - 1).downto(0) do |place|
            function, own, total, children = nodes[place]
            name, path, first_line = functions[function]
            built[place] = { name: name, path: path, first_line: first_line, self: own, total: total, children: children.map { |it| built[it] } }
          end
          roots.map { |it| built[it] }
        end

        # Implements {Profile#find_methods}.
        def find_methods(profile, pattern, type)
          functions = Native.functions(profile)
          related = ->((id, weight)) { { **named(id ? functions[id] : []), weight: weight } }
          found = functions_like(profile, pattern).map do |id|
            total, own, callers, callees, lines = Native.method_details(profile, id, type)
            { **named(functions[id]), self: own, total: total, callers: callers.map(&related), callees: callees.map(&related),
              lines: lines.map { |line, all, self_| { line: line, self: self_, total: all } } }
          end
          found.select { |it| it[:total].positive? }.sort_by { |it| [-it[:total], -it[:self], it[:name], it[:path]] }
        end

        # Implements {Profile#lines}.
        def lines(profile, type)
          Native.lines(profile, type).each_with_object({}) do |(path, line, total, own), files|
            (files[path] ||= {})[line] = { self: own, total: total }
          end
        end

        # Implements {Profile.diff}.
        def diff(before, after, options)
          raise ArgumentError, "each side needs at least one profile to compare" if before.empty? || after.empty?

          found = Native.diff(before, after, options)
          found[:changes].map! { |row| CHANGE.zip(row).to_h }
          found
        end

        # Returns the ids of functions whose names match, or whose paths do if the pattern contains a +/+. A function matches by the name in
        # the profile, or by the one for people, which has the line of a block or the file of a template.
        #
        # @raise [ArgumentError] if there are none, unless +none+ allows that
        def functions_like(profile, pattern, none: false)
          by = pattern_of(pattern)
          in_paths = by.source.include?("/")
          found = Native.functions(profile).each_with_index.select do |(name, path, *, shown), _id|
            in_paths ? path.match?(by) : name.match?(by) || shown.match?(by)
          end.map(&:last)
          raise ArgumentError, "no function matches #{pattern.inspect}" if found.empty? && !none

          found
        end

        private

        def named(function)
          FUNCTION.zip(function).to_h
        end

        def threads_like(profile, pattern)
          threads = Native.threads(profile)
          by = pattern.is_a?(Integer) ? nil : pattern_of(pattern)
          found = threads.each_with_index.select { |(id, name), _| by ? name.match?(by) : id == pattern }.map(&:last)
          return found if found.any?

          there = threads.map { |id, name| "#{name.inspect} (#{id})" }.uniq.first(20).join(", ")
          raise ArgumentError, "no thread matches #{pattern.inspect} (there are #{there})"
        end

        def pattern_of(pattern)
          return pattern if pattern.is_a?(Regexp)
          return /\A#{Regexp.escape(pattern)}\z/ if pattern.is_a?(String)

          raise ArgumentError, "#{pattern.inspect} is not a pattern (allowed: Regexp, String)"
        end
      end
    end
    private_constant :Analysis
  end
end
