# frozen_string_literal: true

module Profiler
  # The result of a session. It is immutable. Most of it is native; this reopens the class.
  class Profile
    FINDING = %i[kind text share type weight name path line command].freeze
    # The largest number of rows; a larger limit means all rows.
    MAX_ROWS = (1 << 32) - 1
    private_constant :FINDING, :MAX_ROWS

    # The return value of the block given to {Profiler.run}.
    attr_reader :value

    # Reads a file: the +.pb.gz+ or +.html+ of {#save}, any other pprof, JSON of vernier, rperf, stackprof, speedscope or the Firefox
    # Profiler, or folded stacks, each gzipped or not. A note in the header says what the format does not contain.
    #
    # @param path [String]
    # @return [Profile]
    # @raise [SystemCallError] if it cannot be read
    # @raise [FormatError] if it is something else, truncated, or expands to far more than its size
    def self.load(path)
      bytes = Input.read(path)
      begin
        Native.parse(bytes)
      rescue FormatError => e
        raise FormatError, "#{path}: #{e.message}"
      end
    end

    # Adds up several profiles, such as those of the processes of a deployment, or of one process over a day. Each query returns
    # the sum. The header notes what differs between them. Threads with the same native id and name become one.
    #
    # @param profiles [Array<Profile>] one or more, in any order
    # @return [Profile]
    # @raise [ArgumentError] if there is none, or something else among them
    def self.merge(*profiles)
      raise ArgumentError, "no profile to merge" if profiles.empty?

      _merge(Analysis.profiles(profiles))
    end

    # Adds up this profile and others; see {Profile.merge}.
    #
    # @param others [Array<Profile>] one or more
    # @return [Profile] a new one
    # @raise [ArgumentError] if there is none, or something else among them
    def merge(*others)
      raise ArgumentError, "no profile to merge with" if others.empty?

      Profile.merge(self, *others)
    end

    # Shortens paths, so that profiles from different deployments compare. Files of gems become +gem:rack/lib/rack.rb+ (without
    # the version), those of Ruby +ruby:set.rb+, and those under +roots+ relative.
    #
    # @param roots [Array<String>] directories
    # @return [Profile] a new one
    def trim_path(*roots)
      _trim_path(roots.map { |root| FileName.absolute(FileName.of(root)) })
    end

    # Replaces the names of the app, of its gems, threads, labels and markers by numbers, so that the profile can be sent to
    # strangers. Code keeps its origin, and methods of Ruby itself their names; stacks, lines, times and weights stay the same.
    #
    # @return [Profile] a new one
    def anonymize
      _anonymize
    end

    # Moves garbage collection away from its cause.
    #
    # @param place [Symbol] +:root+, all in one place, or +:ignore+: left out, and the header says how much it was
    # @return [Profile] a new one
    # @raise [ArgumentError] for another place
    def gc(place)
      _gc(place)
    end

    # Writes the profile, readable only by its owner. An existing file is replaced atomically. Other threads can run. An
    # interrupt (Ctrl-C, Timeout, Thread#kill) leaves the existing file unchanged.
    #
    # @param path [String] its extension selects the format: .pb.gz, .html, .svg, .folded, .speedscope.json, .firefox.json,
    #   .cpuprofile, .callgrind, .stackprof.json, .md, .json, .txt; with .gz appended, the file is compressed
    # @param format [Symbol, String, nil] selects the format in place of the extension
    # @param options [Hash] as for {#dump}
    # @return [String] the path
    # @raise [ArgumentError] if the format is not known, or does not support an option
    # @raise [SystemCallError] if it cannot be written
    # @raise [FormatError] if its stacks take gigabytes as text, in formats that repeat names
    def save(path, format: nil, **options)
      Output.new(path, format: format, **options).write(self)
    end

    # Shows the profile in a browser, as one page that needs no network. Prints the path of the page if there is no browser.
    #
    # @param title [String, nil]
    # @param before [Profile, Array<Profile>, nil] earlier runs: the page then shows what changed since, as {Profile.diff} computes it
    # @return [String] the path of the page
    # @raise [SystemCallError] if it cannot be written
    # @raise [ArgumentError] if +before+ lacks the sample type
    def view(title: nil, before: nil)
      before ? Browser.show_bytes(Native.diff_page(Analysis.profiles(before), [self], { title: title && AnyObject.word("title", title) })) : Browser.show(self, title: title)
    end

    # Encodes the profile as the bytes of a file.
    #
    # @param format [Symbol, String] pprof, folded, html, svg, speedscope, firefox, cpuprofile, callgrind, stackprof, markdown, json,
    #   text
    # @param type [String, Symbol, nil] the sample type, where only one can be shown
    # @param style [Symbol, String, nil] of svg: +icicle+, +flame+, +reverse+ (callers of the heaviest) or +flamechart+ (in the
    #   order of time; it requires a timeline)
    # @param title [String, nil] of a picture or summary
    # @param limit [Integer, nil] functions in a table; 0 for all
    # @param source [Boolean] of html: puts in the text of Ruby files below the working directory, in gems and in Ruby's library,
    #   except of those that are hidden or look secret
    # @return [String] binary
    # @raise [ArgumentError] if the format is not known, or does not support an option
    # @raise [FormatError] see {#save}
    def dump(format, source: false, **options)
      format = AnyObject.word("format", format)
      bytes = _write(format, format_options(**options))
      return bytes unless format == "html"

      with_editor(source ? with_sources(bytes) : bytes)
    end

    # The paths of the source files whose text is in the last page.
    #
    # @return [Array<String>, nil]
    # @api private
    attr_reader :sources

    # @api private
    def write_into(path, format, gzip:, replace: false, keep: nil, **options)
      _write_file(path, format, { gzip: gzip, replace: replace, keep: keep, **format_options(**options) })
    end

    # Encodes the profile as the body of a request to a backend.
    #
    # @param kind [Symbol] +:pprof+, +:pyroscope+ or +:otlp+
    # @return [String, nil] the body of a request; nil if there is nothing to send
    # @raise [ArgumentError] for a value that is not allowed
    # @api private
    def upload(kind, **options) = _upload(kind.to_s, options)

    # Encodes the profile as +.pb.gz+.
    #
    # @return [String] binary
    def to_pprof
      dump(:pprof)
    end

    # Formats the profile as a table for people, with the findings above it.
    #
    # @param limit [Integer] rows; 0 for all
    # @param sort [Symbol] +:self+ or +:total+
    # @param color [Boolean]
    # @param by [String, Symbol, nil] a label whose values to list in place of functions; see {#by}
    # @param type [String, Symbol, nil] the sample type: +wall+, +alloc_space+; by default the time, or else the last type
    # @param width [Integer, nil] columns that a line of the table may take: names and paths are shortened in the middle
    # @param idle [Boolean] includes the waits of idle threads in wall clock time; see {#without_idle}
    # @return [String]
    # @raise [ArgumentError] if no sample has the label, or the profile has no such type
    def report(limit: 30, sort: :self, color: false, by: nil, type: nil, width: nil, idle: false)
      raise ArgumentError, "by: and sort: :total cannot be combined: a value has only one sum" if by && sort == :total

      shown = idle || (type ? AnyObject.word("type", type) : Native.default_type(self)) != "wall" ? self : without_idle
      shown.__send__(:_report, { limit: checked_limit(limit), sort_total: Profile.by_total?(sort), color: color ? true : false, by: by && AnyObject.word("by", by), width: Analysis.width(width), **typed(type) })
    end

    # Returns what stands out, in words: at most six facts, the most important first. Shares do not include waits of idle
    # threads.
    #
    # @return [Array<Hash>] +kind text share type weight name path line command+. +kind+ is +:running+, +:waiting+, +:gvl+, +:gc+,
    #   +:no_cpu+, +:queries+, +:allocations+, +:live+, +:idle+ or +:trust+ (a reason to trust the numbers less). +share+ is from 0
    #   to 1, nil if the fact is not a part of the whole. +weight+ is in the unit of +type+. +name+, +path+ and +line+ say where, nil
    #   where nothing is named. +command+ shows more, with +FILE+ for the profile.
    def findings
      _findings.map { |row| FINDING.zip(row).to_h }
    end

    # Returns the heaviest functions.
    #
    # @return [Array<Hash>] +name path first_line self total+, times in nanoseconds, or in the unit of +type+
    def top(limit: 30, sort: :self, type: nil)
      _top(checked_limit(limit), Profile.by_total?(sort), typed(type)).map do |name, path, first_line, own, total|
        { name: name, path: path, first_line: first_line, self: own, total: total }
      end
    end

    # Returns the live objects of this profile that are not in +before+, an earlier snapshot of the same session; see
    # {Session#snapshot}.
    #
    # @param before [Profile] with mode +:heap+
    # @return [Array<Growth>] the most bytes first
    def growth(before)
      Leaks.between(Analysis.profiles([before]).first, self)
    end

    # Groups the weight by the values of a label, the heaviest first, each with its heaviest function.
    #
    # @param label [String, Symbol] a label of the samples, or +thread+ or +state+, which all of them have
    # @param limit [Integer] values; 0 for all
    # @return [Array<Hash>] +value weight heaviest count mean largest+. +value+ is +(none)+ for samples without the label.
    #   +heaviest+ is the function with the most self time among them (+name path first_line self+, or nil). +count+ requests or jobs
    #   with that value ended, and took +mean+ and at most +largest+ wall clock time; nil where they were not counted. Times are in
    #   nanoseconds. Without +type+, a label that only objects or memory have, such as +class+, is shown with their bytes.
    # @raise [ArgumentError] if neither samples nor requests have the label; the message lists the existing ones
    def by(label, limit: 30, type: nil)
      _by(AnyObject.word("label", label), checked_limit(limit), typed(type)).map do |value, weight, heaviest, (count, mean, largest)|
        { value: value, weight: weight, heaviest: heaviest && %i[name path first_line self].zip(heaviest).to_h,
          count: count, mean: mean, largest: largest }
      end
    end

    # @!method without_idle
    #   Leaves out the waits of idle threads, as {#report} does: those in which a thread spent more than 95 % of its wall clock, and
    #   those of library threads that wait for work. A note in the header says how many threads these were.
    #
    #   @return [Profile] a new one

    # Selects a part of the profile: all given conditions must hold. Functions are matched by name, or by path if the pattern
    # contains a +/+. A String stands for itself.
    #
    #   profile.filter(focus: /Order/, hide: /^ActiveRecord::/)
    #
    # @param focus [Regexp, String, nil] only stacks with a matching function
    # @param ignore [Regexp, String, nil] leave out stacks with a matching function
    # @param hide [Regexp, String, nil] hide matching functions; their weight is added to their callers'
    # @param app_only [Boolean] hide functions of gems, of Ruby and in C from stacks
    # @param thread [Regexp, String, Integer, nil] only threads of that name, or native id
    # @param during [Regexp, String, nil] only what a thread did in a marker of that name; needs a timeline
    # @param over [Numeric, nil] of these, only markers that took longer, in seconds
    # @return [Profile] a new one; a note in its header names the part
    # @raise [ArgumentError] if no function matches +focus+, or no thread or marker matches
    def filter(focus: nil, ignore: nil, hide: nil, app_only: false, thread: nil, during: nil, over: nil)
      Analysis.filter(self, { focus: focus, ignore: ignore, hide: hide }.compact, thread, app_only, during, over)
    end

    # Returns the call tree.
    #
    # @param type [String, Symbol, nil] the sample type; if nil, that of {#report}
    # @return [Array<Hash>] the roots, the heaviest first: +name path first_line self total children+
    # @raise [ArgumentError] if the profile has no such type
    def tree(type: nil)
      Analysis.tree(self, typed(type))
    end

    # Returns details of functions: their callers, callees and lines. Recursive calls count once.
    #
    # @param pattern [Regexp, String] a name, or a part of the path if it contains a +/+
    # @param type [String, Symbol, nil] the sample type; if nil, that of {#report}
    # @return [Array<Hash>] the heaviest first: +name path first_line self total callers callees lines+. Callers and callees are
    #   +name path first_line weight+; a root has the caller +nil+. Lines are +line self total+.
    # @raise [ArgumentError] if there is no such function
    def find_methods(pattern, type: nil)
      Analysis.find_methods(self, pattern, typed(type))
    end

    # Returns the details of functions as text, as the command +profiler report --method+ prints them.
    #
    # @raise [ArgumentError] if there is no such function
    # @api private
    def methods_text(pattern, **options) = Native.methods_text(self, Analysis.functions_like(self, pattern), options)

    # Returns the weight of each line of each file.
    #
    # @param type [String, Symbol, nil] the sample type; if nil, that of {#report}
    # @return [Hash{String => Hash{Integer => Hash}}] by path, then by line: +self total+; line 0 is unknown
    def lines(type: nil)
      Analysis.lines(self, typed(type))
    end

    # Returns the sum of each sample type.
    #
    # @return [Hash{String => Integer}] nanoseconds, bytes and numbers by the name of the sample type
    def totals
      _types.to_h { |name, _unit, sum| [name, sum] }
    end

    # Compares two sets of profiles, and tells significant changes from chance. A single profile per side is tested by its
    # number of samples, several also by their spread. The test is corrected for the number of functions: of comparisons between
    # equal sides, one in twenty reports a change.
    #
    # @param before [Profile, Array<Profile>] runs of the one version
    # @param after [Profile, Array<Profile>] runs of the other
    # @param type [String, Symbol, nil] the sample type
    # @param sort [Symbol] +:self+ compares self weights, +:total+ includes callees
    # @param absolute [Boolean] compares weights; otherwise shares of a run
    # @param tolerance [Float] the growth up to which a function is not +slower+
    # @return [Hash] +type unit before after headline failed samples compared spread changes+. The significant changes come first, and
    #   the greatest of these: +name path first_line before after samples chance significant verdict weight_before weight_after slower+.
    #   Weights are per run, or per request if all runs counted requests. A +verdict+ is +"slower"+ or +"faster"+ by its
    #   weight, +"moved"+ if only its share went that way, otherwise +"same"+
    # @raise [ArgumentError] if a side is empty or lacks the type
    def self.diff(before, after, type: nil, sort: :self, absolute: false, tolerance: 0.0)
      options = { type: type && AnyObject.word("type", type), total: by_total?(sort), absolute: absolute ? true : false, tolerance: Analysis.tolerance(tolerance) }
      Analysis.diff(Analysis.profiles(before), Analysis.profiles(after), options)
    end

    # Compares this profile with a later one; see {Profile.diff}.
    def diff(other, **options)
      Profile.diff(self, other, **options)
    end

    # Returns the aggregated samples: each distinct stack of a thread, with its weights.
    #
    # @return [Array<Sample>]
    def samples
      Sample.all_of(self)
    end

    # Returns the timeline events in the order of time: what each record added to a sample, and what was attributed at the end.
    # The events of a sample add up to the sample, unless {#stats} has +timeline_dropped+.
    #
    #   profile.timeline.lazy.select { |it| it.state == :gvl }.map(&:time).first(3)
    #
    # Events are created on demand, because a million of them takes much memory.
    #
    # @return [Enumerator<TimelineEvent>, nil] nil if the session did not keep one (<tt>timeline: true</tt>)
    def timeline
      size = _timeline_size
      Enumerator.new(size) { |events| TimelineEvent.each_of(self) { |event| events << event } } if size
    end

    # Returns the markers that {Profiler.marker} recorded, in the order of time.
    #
    # @return [Array<Marker>]
    def markers
      _markers.map do |name, thread_id, thread_name, started_at_ns, duration|
        Marker.new(name: name, thread_id: thread_id, thread_name: thread_name,
                   started_at: Time.at(0, started_at_ns, :nanosecond), duration: duration).freeze
      end
    end

    # Returns the markers by name: how many there were, how long they took, and where their threads were during that time.
    #
    # @param limit [Integer] names; 0 for all
    # @return [Array<Hash>] +name count total mean largest place+, those with the most time first. Times are in nanoseconds; time in
    #   nested markers of one name counts in each. +place+ (+name path line+) is the line of the app that their threads were at for most
    #   of the time; nil without a timeline, or if they were too short.
    def marker_sums(limit: 30)
      _marker_sums(checked_limit(limit)).map do |name, count, total, largest, place|
        { name: name, count: count, total: total, mean: total / count, largest: largest, place: place && %i[name path line].zip(place).to_h }
      end
    end

    def inspect
      stats = self.stats
      cpu = format(", %.3f s of CPU", stats[:cpu_ns] / 1e9) if meta[:modes].include?(:cpu)
      format("#<Profiler::Profile %s, %.3f s%s, %d samples>", meta[:modes].join("+"), stats[:duration_ns] / 1e9, cpu, stats[:samples])
    end

    # @api private
    def self.by_total?(sort)
      return sort == :total if %i[self total].include?(sort)

      raise ArgumentError, "sort: #{AnyObject.text(sort)} is not an order (allowed: :self, :total)"
    end

    # @api private
    def with_value(value)
      @value = value unless value.nil? # which it is already
      self
    end

    private

    def format_options(type: nil, style: nil, title: nil, limit: nil)
      { **typed(type), style: style && AnyObject.word("style", style), title: title && AnyObject.word("title", title), limit: limit && checked_limit(limit) }
    end

    def with_editor(page)
      return page unless ENV.key?("PROFILER_EDITOR") || ENV.key?("RAILS_EDITOR")

      require_relative "profile/editor"
      Editor.put_into(page)
    end

    def with_sources(page)
      require_relative "profile/sources"
      page, @sources = Sources.put_into(page, self)
      page
    end

    def checked_limit(limit)
      return [limit, MAX_ROWS].min if Integer === limit && !limit.negative?

      raise ArgumentError, "limit: #{AnyObject.text(limit)} is not an Integer of 0 (all) or more"
    end

    def typed(type)
      { type: type && AnyObject.word("type", type) }
    end
  end
end
