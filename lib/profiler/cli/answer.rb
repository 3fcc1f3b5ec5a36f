# frozen_string_literal: true

require "shellwords"
require_relative "../autoload/claim"

module Profiler
  module CLI
    # The end of a recording, for people or as JSON: the resources that the program used, findings, files, and what to do next.
    class Answer
      # The largest number of files whose profiles are added up. If there are more, the largest files are.
      MAX_FILES = 64
      NAME = "[profiler]"
      INDENT = " " * (NAME.size + 1)

      # Describes the number of samples, or of objects or blocks of memory if no time was sampled.
      #
      # @param profile [Profile]
      # @return [String]
      def self.taken(profile)
        stats = profile.stats
        number = ->(name) { Native.amount("samples", stats[name]) }
        return "#{number[:samples]} sample#{"s" unless stats[:samples] == 1}" if stats[:samples].positive? || stats[:objects].zero?

        noun = profile.meta[:modes].include?(:native) ? "blocks" : "objects"
        "#{number[:objects]} #{noun}#{", #{number[:live_objects]} of them live" if stats[:live_objects].positive?}"
      end

      # @param seconds [Float] wall clock time of the program
      # @param used [Array<Array<Integer>>] of each Ruby process: garbage collections, their time, and allocated objects
      # @param files [Array<String>] that hold a profile and can be read
      # @param named [Array<String>] the requested files
      # @param others [Array<String>] those of further processes
      # @param ended [String, nil] how the program ended, if not well
      def initialize(seconds, used, files, named, others, ended: nil)
        @ended = ended
        @seconds = seconds
        @used = used
        @usage = Native.usage_of_children
        @profile = profile_of(files)
        @named = named
        @others = others
      end

      # @param width [Integer] columns of a line
      # @param color [Boolean]
      # @return [Array<String>] three lines on resources, a finding in up to three, and two on the files
      def lines(width, color)
        [*resources.each_with_index.map { |line, index| "#{index.zero? ? "#{NAME} " : INDENT}#{line}" }, *findings(width, color), *memory(width), *files(width)]
      end

      # @return [Hash{Symbol => Object}] for programs
      def to_h
        { real_ns: (@seconds * 1_000_000_000).round, **@usage, processes: @used.size, gc_count: collections, gc_ns: collecting_ns, objects: objects,
          samples: @profile&.stats&.fetch(:samples), dropped: @profile&.stats&.fetch(:dropped), findings: @profile ? @profile.findings : [], memory: memory_rows, files: @named + @others }
      end

      private

      def profile_of(files)
        largest = files.select { |it| File.file?(it) }.max_by(MAX_FILES) { |it| File.size(it) }
        # Idle threads are found in each process by itself. A report leaves out the same waits, so its numbers are the same.
        profiles = largest.map { |it| Profile.load(it).without_idle }
        profiles.size > 1 ? Profile.merge(*profiles) : profiles.first
      rescue SystemCallError, FormatError => e
        CLI.complain "cannot read what was written: #{e.message}"
        nil
      end

      def collections = @used.sum { |it| it[0] }
      def collecting_ns = @used.sum { |it| it[1] }
      def objects = @used.sum { |it| it[2] }

      def resources
        usage = @usage
        faults = usage[:minor_faults] + usage[:major_faults]
        switches = usage[:voluntary_switches] + usage[:forced_switches]
        [
          "#{time(@seconds * 1e9)} real, #{time(usage[:user_ns])} user, #{time(usage[:system_ns])} sys" \
          "#{", #{number(@used.size)} Ruby processes" if @used.size > 1}#{", #{@ended}" if @ended}",
          "#{Native.amount("inuse_space", usage[:peak_bytes])} of memory at most, #{counted(objects, "object")}, " \
          "#{counted(collections, "GC")} took #{time(collecting_ns)}",
          "#{counted(faults, "page fault")}#{" (#{number(usage[:major_faults])} from disk)" if usage[:major_faults].positive?}, " \
          "#{counted(switches, "context switch", "context switches")} (#{number(usage[:forced_switches])} forced)"
        ]
      end

      def findings(width, color)
        return [] unless @profile

        sentence, interval = Native.too_short(@profile)
        return wrap("#{sentence}#{" (--interval #{interval})" if interval}", width) if sentence

        Native.findings_text(@profile.trim_path(Dir.pwd), { width: width, color: color }).lines(chomp: true)
      rescue SystemCallError
        Native.findings_text(@profile, { width: width, color: color }).lines(chomp: true) # the working directory was removed
      end

      # Returns what stands out in the memory at the end, if that was kept.
      def memory(width)
        first, *lines = @profile ? Native.memory_summary(@profile) : []
        return [] unless first

        [*wrap("memory: #{first}", width), *lines.flat_map { |line| line.start_with?(" ") ? ["#{INDENT}#{line}"] : wrap(line, width) }]
      end

      def memory_rows = @profile ? @profile.memory : []

      def files(width)
        written = @named.empty? ? @others.first(1) : @named
        return [] if written.empty?

        more = @named.size + @others.size - written.size
        line = "#{NAME} wrote #{written.map { |it| Native.clean(CLI.text(relative(it))) }.join(", ")}#{" and #{number(more)} more of other processes" if more.positive?}"
        quality = qualities.find { |it| line.size + it.size <= width } if @profile
        ["#{line}#{quality}", next_step(width)]
      end

      # Returns the facts that follow the profile's name, from the longest form to the shortest.
      def qualities
        stats = @profile.stats
        lost = ", #{number(stats[:dropped])} dropped" if stats[:dropped].positive?
        share, of = Native.overhead(@profile)
        text = "#{Answer.taken(@profile)}#{lost}"
        [*(share && [" (#{text}, overhead #{share} #{of})", " (#{text}, overhead #{share})"]), " (#{text})"]
      end

      # Returns the next commands that fit into the line, for the file that was written. By default they read the newest .pb.gz
      # here.
      def next_step(width)
        file = (@named + @others).find { |it| read_back?(it) }
        return "#{INDENT}to read this profile again, also write a .pb.gz: add --out FILE.pb.gz" unless file

        path = CLI.text(relative(file))
        can_be_typed = path.bytesize == relative(file).bytesize # else some of its bytes are not text
        here = path.end_with?(".pb.gz") && path == File.basename(path)
        name = here ? "" : " #{Shellwords.escape(path)}"
        stands_out = @profile&.findings&.find { |it| !%i[idle trust].include?(it[:kind]) }
        command = stands_out&.fetch(:command)&.sub(" FILE", name)
        steps = ["profiler view#{name} opens the page, profiler report#{name} shows the table", "profiler view#{name}; profiler report#{name}"]
        steps.unshift("more: profiler view#{name}, or #{command}", "profiler view#{name}; #{command}") if command
        step = steps.find { |it| (here || can_be_typed) && it == Native.clean(it) && INDENT.size + it.size <= width }
        "#{INDENT}#{step || "more: profiler view FILE, or profiler report FILE"}"
      end

      def read_back?(path)
        %w[pprof html].include?(Native.format_of(path))
      rescue ArgumentError
        false # as its name does not tell
      end

      # Breaks lines at blanks.
      def wrap(text, width)
        text.gsub(/(.{1,#{width - INDENT.size}})(?: +|\z)/, "\\1\n").lines(chomp: true).map { |line| "#{INDENT}#{line}" }
      end

      def relative(path)
        directory = File.join(Dir.pwd, "").b # whose encoding is another one in the locale C
        path.b.start_with?(directory) ? path.byteslice(directory.bytesize..-1) : path
      rescue SystemCallError
        path
      end

      def time(nanoseconds) = Native.amount("cpu", nanoseconds.round)
      def number(count) = Native.amount("samples", count)
      def counted(count, noun, nouns = "#{noun}s") = "#{number(count)} #{count == 1 ? noun : nouns}"
    end
  end
end
