# frozen_string_literal: true

module Profiler
  # What a session saw. Reopened here: the rest is native. Immutable.
  class Profile
    autoload :Analysis, "#{__dir__}/profile/analysis"
    private_constant :Analysis

    # What the block given to {Profiler.run} returned.
    attr_reader :value

    # Reads a file: what {#save} wrote as +.pb.gz+, or any other pprof, the JSON of speedscope or stackprof, or folded stacks;
    # each packed by gzip or not. What the format does not say is not there, and a note in the header says so.
    #
    # @param path [String]
    # @return [Profile]
    # @raise [SystemCallError] if it cannot be read
    # @raise [FormatError] if it is something else, cut off, or stands for far more than its size
    def self.load(path)
      bytes = File.binread(path)
      begin
        _parse(bytes)
      rescue FormatError => e
        raise FormatError, "#{path}: #{e.message}"
      end
    end

    # The sum of several profiles: of the processes of a deployment, or of one process over a day. Any question
    # asked of it has the sum of their answers. Where they were taken differently, the header's notes say how.
    # Threads of the same native id and name are one.
    #
    # @param profiles [Array<Profile>] one or more; the order does not matter
    # @return [Profile]
    # @raise [ArgumentError] if there is none, or something else among them
    def self.merge(*profiles)
      raise ArgumentError, "no profile to merge" if profiles.empty?

      profiles.each do |it|
        raise ArgumentError, "cannot merge what is no Profiler::Profile: #{it.class}" unless it.is_a?(Profile)
      end
      _merge(profiles)
    end

    # The sum of this profile and others; see {Profile.merge}.
    #
    # @param others [Array<Profile>] one or more
    # @return [Profile] a new one
    # @raise [ArgumentError] if there is none, or something else among them
    def merge(*others)
      raise ArgumentError, "no profile to merge with" if others.empty?

      Profile.merge(self, *others)
    end

    # The profile with short paths, so that those of an app that is deployed elsewhere compare: files of gems are
    # +gem:rack/lib/rack.rb+ (whatever the version), those of Ruby +ruby:set.rb+, and those under +roots+ relative.
    #
    # @param roots [Array<String>] directories
    # @return [Profile] a new one
    def trim_path(*roots)
      _trim_path(roots.map { |root| File.expand_path(root) })
    end

    # The profile with its garbage collection elsewhere than under what caused it.
    #
    # @param place [Symbol] +:root+, all in one place, or +:ignore+: left out, and the header says how much it was
    # @return [Profile] a new one
    # @raise [ArgumentError] for another place
    def gc(place)
      _gc(place)
    end

    # Writes the profile, readable by its owner alone. A file that is there is replaced as a whole. Other threads go on meanwhile, and
    # whatever interrupts this one (Ctrl-C, Timeout, Thread#kill) leaves the place as it was.
    #
    # @param path [String] its extension says the format: .pb.gz, .svg, .folded, .speedscope.json, .firefox.json, .cpuprofile,
    #   .callgrind, .stackprof.json, .md, .json, .txt; with .gz behind it, it is packed
    # @param format [Symbol, String, nil] says it instead
    # @param options [Hash] as for {#dump}
    # @return [String] the path
    # @raise [ArgumentError] if the format is not known, or cannot show what is asked for
    # @raise [SystemCallError] if it cannot be written
    # @raise [FormatError] if its stacks come to gigabytes as text, in formats that repeat names
    def save(path, format: nil, **options)
      Output.new(path, format: format, **options).write(self)
    end

    # The profile as the bytes of a file.
    #
    # @param format [Symbol, String] pprof, folded, svg, speedscope, firefox, cpuprofile, callgrind, stackprof, markdown, json, text
    # @param type [String, Symbol, nil] the sample type, where only one can be shown
    # @param style [Symbol, String, nil] of svg: +icicle+, +flame+, +reverse+ (who called the heaviest) or +flamechart+ (in the
    #   order of time; the profile needs a timeline)
    # @param title [String, nil] of a picture or summary
    # @param limit [Integer, nil] functions in a table; 0 for all
    # @return [String] binary
    # @raise [ArgumentError] if the format is not known, or cannot show what is asked for
    # @raise [FormatError] as {#save}
    def dump(format, **options)
      _write(format.to_s, said(**options))
    end

    # @api private
    def write_into(path, format, gzip:, **options)
      _write_file(path, format, { gzip: gzip, **said(**options) })
    end

    # The bytes of a +.pb.gz+.
    #
    # @return [String] binary
    def to_pprof
      dump(:pprof)
    end

    # The table that people read.
    #
    # @param limit [Integer] rows; 0 for all
    # @param sort [Symbol] +:self+ or +:total+
    # @param color [Boolean]
    # @param by [String, Symbol, nil] a label whose values to list in place of functions; see {#by}
    # @param type [String, Symbol, nil] the sample type: +wall+, +alloc_space+; the time when nil, or else the last
    # @return [String]
    # @raise [ArgumentError] if no sample has the label, or the profile not the type
    def report(limit: 30, sort: :self, color: false, by: nil, type: nil)
      raise ArgumentError, "by: and sort: :total do not go together: values have but one sum" if by && sort == :total

      _report({ limit: checked_limit(limit), sort_total: Profile.by_total?(sort), color: color ? true : false, by: by&.to_s, **typed(type) })
    end

    # The heaviest functions.
    #
    # @return [Array<Hash>] +name path first_line self total+, times in nanoseconds, or in the unit of +type+
    def top(limit: 30, sort: :self, type: nil)
      _top(checked_limit(limit), Profile.by_total?(sort), typed(type)).map do |name, path, first_line, own, total|
        { name: name, path: path, first_line: first_line, self: own, total: total }
      end
    end

    # What is alive here that was not in +before+, a profile that the same session gave earlier: see {Session#snapshot}.
    #
    # @param before [Profile] with mode +:heap+
    # @return [Array<Growth>] the most bytes first
    def growth(before)
      Leaks.between(before, self)
    end

    # Whose the time is: the values of a label, the heaviest first, each with its heaviest function.
    #
    # @param label [String, Symbol] a label of the samples, or +thread+ or +state+, which all of them have
    # @param limit [Integer] values; 0 for all
    # @return [Array<Hash>] +value weight heaviest+: +value+ is +(none)+ for the samples without the label,
    #   +heaviest+ the function with the most time of its own among them (+name path first_line self+, or
    #   nil); times in nanoseconds
    # @raise [ArgumentError] if no sample has the label; the message lists those there are
    def by(label, limit: 30, type: nil)
      _by(label.to_s, checked_limit(limit), typed(type)).map do |value, weight, heaviest|
        { value: value, weight: weight, heaviest: heaviest && %i[name path first_line self].zip(heaviest).to_h }
      end
    end

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
      Analysis.filter(self, { focus: focus, ignore: ignore, hide: hide }.compact, thread, app_only)
    end

    # Who called whom.
    #
    # @param type [String, Symbol, nil] the sample type; that of {#report} when nil
    # @return [Array<Hash>] those nobody called, the heaviest first: +name path first_line self total children+
    # @raise [ArgumentError] if the profile has no such type
    def tree(type: nil)
      Analysis.tree(self, typed(type))
    end

    # Functions from near: who called them, whom they called, and their lines. What a stack has twice counts once.
    #
    # @param pattern [Regexp, String] a name, or a part of the path if it has a +/+
    # @param type [String, Symbol, nil] the sample type; that of {#report} when nil
    # @return [Array<Hash>] the heaviest first: +name path first_line self total callers callees lines+. Of the callers and
    #   callees +name path first_line weight+; who nobody called has the caller +nil+. Of the lines +line self total+.
    # @raise [ArgumentError] if there is no such function
    def find_methods(pattern, type: nil)
      Analysis.find_methods(self, pattern, typed(type))
    end

    # What each line of each file weighs.
    #
    # @param type [String, Symbol, nil] the sample type; that of {#report} when nil
    # @return [Hash{String => Hash{Integer => Hash}}] by path, then by line: +self total+; line 0 is not known
    def lines(type: nil)
      Analysis.lines(self, typed(type))
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
      Analysis.diff(Array(before), Array(after), { type: type&.to_s, total: by_total?(sort), absolute: absolute ? true : false })
    end

    # See {Profile.diff}; this profile is the earlier one.
    def diff(other, **options)
      Profile.diff(self, other, **options)
    end

    # The rows.
    #
    # @return [Array<Sample>]
    def samples
      Sample.all_of(self)
    end

    # The timeline events in the order of time: what each record added to a sample, and what was settled at the end. The events
    # of a sample add up to the sample, unless {#stats} says +timeline_dropped+.
    #
    #   profile.timeline.lazy.select { |it| it.state == :gvl }.map(&:time).first(3)
    #
    # Events are created on demand, as a million of them takes much memory.
    #
    # @return [Enumerator<TimelineEvent>, nil] nil if the session did not keep one (<tt>timeline: true</tt>)
    def timeline
      size = _timeline_size
      Enumerator.new(size) { |events| TimelineEvent.each_of(self) { |event| events << event } } if size
    end

    # What the app told of itself with {Profiler.marker}, in the order of time.
    #
    # @return [Array<Marker>]
    def markers
      _markers.map do |name, thread_id, thread_name, started_at_ns, duration|
        Marker.new(name: name, thread_id: thread_id, thread_name: thread_name,
                   started_at: Time.at(0, started_at_ns, :nanosecond), duration: duration).freeze
      end
    end

    def inspect
      it = stats
      cpu = format(", %.3f s of CPU", it[:cpu_ns] / 1e9) if meta[:modes].include?(:cpu)
      format("#<Profiler::Profile %s, %.3f s%s, %d samples>", meta[:modes].join("+"), it[:duration_ns] / 1e9, cpu, it[:samples])
    end

    # @api private
    def self.by_total?(sort)
      return sort == :total if %i[self total].include?(sort)

      raise ArgumentError, "sort: #{sort.inspect} is not an order (allowed: :self, :total)"
    end

    # @api private
    def with_value(value)
      @value = value unless value.nil? # which it is already
      self
    end

    private

    def said(type: nil, style: nil, title: nil, limit: nil)
      { **typed(type), style: style&.to_s, title: title, limit: limit && checked_limit(limit) }
    end

    def checked_limit(limit)
      return limit if limit.is_a?(Integer) && !limit.negative?

      raise ArgumentError, "limit: #{limit.inspect} is not an Integer from 0 (all) on"
    end

    def typed(type)
      { type: type&.to_s }
    end
  end
end
