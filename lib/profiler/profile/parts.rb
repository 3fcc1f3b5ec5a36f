# frozen_string_literal: true

module Profiler
  # Parts of a profile, and what it is against others.
  class Profile
    # A part of the profile. What is asked for together must all be so. Functions are given by name, or by path if the
    # pattern has a +/+ in it; a String stands for itself.
    #
    #   profile.filter(focus: /Order/, hide: /^ActiveRecord::/)
    #
    # @param focus [Regexp, String, nil] only stacks with such a function
    # @param ignore [Regexp, String, nil] only stacks without such a function
    # @param hide [Regexp, String, nil] stacks without such functions: what they took goes to who called them
    # @param app_only [Boolean] stacks without what is a gem's, Ruby's own or written in C
    # @param thread [Regexp, String, Integer, nil] only threads of that name, or native id
    # @return [Profile] a new one; a note in its header says which part it is
    # @raise [ArgumentError] if there is no function to focus on, or no such thread
    def filter(focus: nil, ignore: nil, hide: nil, app_only: false, thread: nil)
      wanted = { focus: focus, ignore: ignore, hide: hide }.compact
      ids = wanted.to_h { |name, pattern| [name, functions_like(pattern, none: name != :focus)] }
      threads = thread && threads_like(thread)
      said = wanted.merge({ thread: thread, app_only: app_only || nil }.compact)
      return self if said.empty?

      note = said.map { |name, value| value == true ? name.to_s.tr("_", " ") : "#{name} #{value.inspect}" }.join(", ")
      _filter({ **ids, threads: threads, app_only: app_only ? true : false, note: "only a part, #{note}" })
    end

    # Who called whom.
    #
    # @param type [String, Symbol, nil] the sample type; that of {#report} when nil
    # @return [Array<Hash>] those nobody called, the heaviest first: +name path first_line self total children+
    # @raise [ArgumentError] if the profile has no such type
    def tree(type: nil)
      nodes, roots = _tree(typed(type))
      functions = _functions
      made = nodes.map do |function, own, total, _|
        name, path, first_line = functions[function]
        { name: name, path: path, first_line: first_line, self: own, total: total, children: [] }
      end
      nodes.each_with_index { |node, place| made[place][:children] = node[3].map { |child| made[child] } }
      roots.map { |place| made[place] }
    end

    # Functions from near: who called them, whom they called, and their lines. What a stack has twice counts once.
    #
    # @param pattern [Regexp, String] a name, or a part of the path if it has a +/+
    # @param type [String, Symbol, nil] the sample type; that of {#report} when nil
    # @return [Array<Hash>] the heaviest first: +name path first_line self total callers callees lines+. Of the callers and
    #   callees +name path first_line weight+; who nobody called has the caller +nil+. Of the lines +line self total+.
    # @raise [ArgumentError] if there is no such function
    def methods_like(pattern, type: nil)
      functions = _functions
      near = ->(id, weight) { { **%i[name path first_line].zip(id ? functions[id] : []).to_h, weight: weight } }
      found = functions_like(pattern).map do |id|
        total, own, callers, callees, lines = _method(id, typed(type))
        name, path, first_line = functions[id]
        { name: name, path: path, first_line: first_line, self: own, total: total, callers: callers.map { |it| near.call(*it) }, callees: callees.map { |it| near.call(*it) },
          lines: lines.map { |line, all, self_| { line: line, self: self_, total: all } } }
      end
      found.select { |it| it[:total].positive? }.sort_by { |it| [-it[:total], -it[:self], it[:name], it[:path]] }
    end

    # What each line of each file weighs.
    #
    # @param type [String, Symbol, nil] the sample type; that of {#report} when nil
    # @return [Hash{String => Hash{Integer => Hash}}] by path, then by line: +self total+; line 0 is not known
    def lines(type: nil)
      _lines(typed(type)).each_with_object({}) do |(path, line, total, own), files|
        (files[path] ||= {})[line] = { self: own, total: total }
      end
    end

    # What is measured, with the sums of all rows.
    #
    # @return [Hash{String => Integer}] nanoseconds, bytes and numbers by the name of the sample type
    def totals
      _types.to_h { |name, _unit, sum| [name, sum] }
    end

    # What changed from some profiles to others, and whether it is more than chance: with a profile a side by the number of
    # samples, with several also by how much those of a side differ; corrected for the number of functions, so that
    # of equals one comparison in twenty finds anything.
    #
    # @param before [Profile, Array<Profile>] runs of the one version
    # @param after [Profile, Array<Profile>] runs of the other
    # @param type [String, Symbol, nil] the sample type
    # @param sort [Symbol] +:self+ compares what functions took themselves, +:total+ with all they called
    # @param absolute [Boolean] compares weights; otherwise shares of a run
    # @return [Hash] +type unit before after samples compared spread changes+. Of the changes, the significant ones first,
    #   slower before faster: +name path first_line before after samples chance significant+
    # @raise [ArgumentError] if a side is empty or lacks the type
    def self.diff(before, after, type: nil, sort: :self, absolute: false)
      sides = [Array(before), Array(after)]
      raise ArgumentError, "a side has no profile to compare" if sides.any?(&:empty?)
      raise ArgumentError, "sort: #{sort.inspect} is not an order (allowed: :self, :total)" unless %i[self total].include?(sort)

      found = _diff(*sides, { type: type&.to_s, total: sort == :total, absolute: absolute ? true : false })
      found[:changes].map! { |row| CHANGE.zip(row).to_h }
      found
    end

    # See {Profile.diff}; this profile is the earlier one.
    def diff(other, **options)
      Profile.diff(self, other, **options)
    end

    CHANGE = %i[name path first_line before after samples chance significant].freeze
    private_constant :CHANGE

    private :_filter, :_functions, :_threads, :_tree, :_method, :_lines, :_types, :_default_type, :_write_file
    private_class_method :_diff, :_diff_svg, :_packs, :_formats, :_amount, :_percent, :_clean

    private

    def typed(type)
      { type: type&.to_s }
    end

    def functions_like(pattern, none: false)
      by = pattern_of(pattern)
      in_paths = by.source.include?("/")
      found = _functions.each_with_index.select { |it, _id| it[in_paths ? 1 : 0].match?(by) }.map(&:last)
      raise ArgumentError, "no function is like #{pattern.inspect}" if found.empty? && !none

      found
    end

    def threads_like(pattern)
      by = pattern.is_a?(Integer) ? nil : pattern_of(pattern)
      found = _threads.each_with_index.select { |(id, name), _| by ? name.match?(by) : id == pattern }.map(&:last)
      return found if found.any?

      there = _threads.map { |id, name| "#{name.inspect} (#{id})" }.uniq.first(20).join(", ")
      raise ArgumentError, "no thread is like #{pattern.inspect} (there are #{there})"
    end

    def pattern_of(pattern)
      return pattern if pattern.is_a?(Regexp)
      return /\A#{Regexp.escape(pattern)}\z/ if pattern.is_a?(String)

      raise ArgumentError, "#{pattern.inspect} is no pattern (allowed: Regexp, String)"
    end
  end
end
