# frozen_string_literal: true

module Profiler
  class Profile
    # Queries on profiles: filters, trees, details and comparisons.
    #
    # @api private
    module Analysis
      CHANGE = %i[name path first_line before after samples chance significant verdict weight_before weight_after slower].freeze
      FUNCTION = %i[name path first_line].freeze
      # The largest width of a table in columns, and the longest marker in seconds.
      MAX_WIDTH = 10_000
      MAX_SECONDS = 1_000_000_000
      private_constant :CHANGE, :FUNCTION, :MAX_WIDTH, :MAX_SECONDS

      class << self
        # Implements {Profile#filter}.
        def filter(profile, patterns, thread, app_only, during, over)
          ids = patterns.to_h { |name, pattern| [name, functions_like(profile, pattern, none: name != :focus)] }
          threads = thread && threads_like(profile, thread)
          markers = markers_like(profile, during, over) if during || over
          criteria = patterns.merge({ thread: thread, app_only: app_only || nil, during: during, over: over }.compact)
          return profile if criteria.empty?

          note = criteria.map { |name, value| note_of(name, value) }.join(", ")
          Native.filter(profile, { **ids, threads: threads, markers: markers, app_only: app_only ? true : false, note: "only a part, #{note}" })
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

        # Returns the ids of functions whose names match, or whose paths do if the pattern contains a +/+. A function matches by
        # the name in the profile, or by the one for people, which has the line of a block or the file of a template.
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

        # Checks the values of arguments.
        #
        # @param objects [Object] a profile, or an Array of some
        # @return [Array<Profile>]
        # @raise [ArgumentError]
        def profiles(objects)
          AnyObject.list(objects).each do |object|
            raise ArgumentError, "#{AnyObject.text(object)} is not a Profiler::Profile" unless Profile === object
          end
        end

        # @return [Float]
        # @raise [ArgumentError]
        def tolerance(value)
          AnyObject.number("tolerance", value, "a share such as 0.05", &:finite?).to_f
        end

        # @return [Integer, nil]
        # @raise [ArgumentError]
        def width(value)
          return value if value.equal?(nil) || (Integer === value && value.between?(0, MAX_WIDTH))

          raise ArgumentError, "width: #{AnyObject.text(value)} is not a number of columns (allowed: 0 to #{MAX_WIDTH})"
        end

        private

        def named(function)
          FUNCTION.zip(function).to_h
        end

        def threads_like(profile, pattern)
          threads = Native.threads(profile)
          by = Integer === pattern ? nil : pattern_of(pattern)
          found = threads.each_with_index.select { |(id, name), _| by ? name.match?(by) : id == pattern }.map(&:last)
          return found if found.any?

          there = threads.map { |id, name| "#{name.inspect} (#{id})" }.uniq.first(20).join(", ")
          raise ArgumentError, "no thread matches #{pattern.inspect} (there are #{there})"
        end

        def note_of(name, value)
          case name
          when :app_only then "app only"
          when :over then "over #{seconds(value)}"
          else "#{name} #{value.inspect}"
          end
        end

        # Returns the places of the markers that match and took longer than +over+ seconds.
        def markers_like(profile, pattern, over)
          raise ArgumentError, "over: is for markers, so it needs during:" unless pattern
          unless over.equal?(nil)
            over = AnyObject.number("over", over, "a duration (allowed: seconds from 0 to #{MAX_SECONDS})") { |seconds| seconds.between?(0, MAX_SECONDS) }
          end
          raise ArgumentError, "during: the profile has no timeline (record with --timeline or timeline: true)" unless profile.timeline

          by = pattern_of(pattern)
          markers = profile.markers
          found = markers.each_index.select { |place| markers[place].name.match?(by) }
          raise ArgumentError, "no marker matches #{pattern.inspect}#{there(markers)}" if found.empty?
          return found unless over

          longer = found.select { |place| markers[place].duration > over * 1e9 }
          return longer if longer.any?

          longest = found.map { |place| markers[place].duration }.max
          raise ArgumentError, "no marker that matches #{pattern.inspect} took longer than #{seconds(over)} (the longest took #{seconds(longest / 1e9)})"
        end

        def seconds(number) = Native.amount("wall", (number * 1e9).round)

        def there(markers)
          names = markers.map { |marker| marker.name.inspect }.uniq.first(20)
          names.any? ? " (there are #{names.join(", ")})" : " (there are none)"
        end

        def pattern_of(pattern)
          return pattern if Regexp === pattern
          text = AnyObject.utf8(pattern) if String === pattern
          return /\A#{Regexp.escape(text)}\z/ if text

          raise ArgumentError, "#{AnyObject.text(pattern)} is not a pattern (allowed: Regexp, String)"
        end
      end
    end
    private_constant :Analysis
  end
end
