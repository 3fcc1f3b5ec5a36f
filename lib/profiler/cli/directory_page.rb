# frozen_string_literal: true

require "json"
require_relative "../store/directory"

module Profiler
  module CLI
    # The page of a directory of a continuous session: an index of how busy each process was in each period, and the profiles of
    # all periods. The profiles of one process and day have at most {MAX_CHARACTERS} characters: if they had more, those of several
    # periods are merged.
    class DirectoryPage
      MAX_CHARACTERS = 10_000_000
      # Lengths of one profile in the page, in seconds, which are tried one after the other; nil leaves each file as it is.
      LENGTHS = [nil, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400].freeze
      DAY = 86_400
      NAME = /\A\d{8}T\d{6}\.\d{3}-(\d+)-\h{8}\./.freeze

      # The file of a period.
      Source = Struct.new(:path, :pid, :bytes)
      # A span of one process: the native file, the packed facts, and when it begins and ends, in ms.
      Part = Struct.new(:file, :facts, :from, :to, :files) do
        # Returns the size in base64.
        def size = (file.bytesize + facts.bytesize + 4) * 4 / 3
      end

      # @param directory [String]
      # @return [Array<Source>] in the order of their names, which is that of time
      def self.files(directory)
        Directory.ours_in(directory).grep(/\.pb(\.gz)?\z/).sort.filter_map do |name|
          path = File.join(directory, name)
          stat = File.stat(path)
          Source.new(path, Integer(name[NAME, 1]), stat.size) if stat.file?
        rescue SystemCallError
          nil # it was removed meanwhile, or is a link to nowhere
        end
      end

      # @param title [String]
      # @param type [String, nil] the sample type that periods open with
      def initialize(title, type: nil)
        @title = title
        @type = type
        @processes = {}
        @parts = []
      end

      # @param files [Array<Source>]
      # @yieldparam path [String]
      # @yieldreturn [Profile, nil] nil for a file that cannot be read
      def read(files)
        files.group_by(&:pid).each do |pid, own|
          own.group_by { |it| day_of(it.path) }.each_value { |day| add_day(pid, day) { |path| yield path } }
        end
      end

      # @param file [String] a new one, readable only by its owner
      def write(file)
        index = { version: VERSION, title: @title, periods: { type: @kind, processes: processes, parts: parts } }
        page = Native.page_of_periods(JSON.generate(index), @parts.map { |_, it| [it.file, it.facts] })
        File.open(file, "wbx", 0o600) { |it| it.write(page) }
      end

      # @return [Hash] for +--json+
      def facts(file)
        { file: file, format: "html", bytes: File.size(file), processes: @processes.size, periods: @processes.sum { |_, it| it[:cells].size },
          parts: @parts.size }
      end

      private

      def day_of(path) = File.basename(path)[0, 8]

      # Adds a day of a process. The first length is guessed from the sizes of the files. Profiles of one program share names
      # and stacks, so 16 of them take a third when they are merged.
      def add_day(pid, files)
        size = files.sum(&:bytes) * 4 / 3
        at = LENGTHS.index { |length| size / (files_in(files, length)**0.4) <= MAX_CHARACTERS } || (LENGTHS.size - 1)
        cells = []
        parts = parts_of(files, LENGTHS[at]) { |path| yield(path)&.tap { |it| cells << cell(it) && describe(pid, it) } }
        parts = merged(parts, LENGTHS[at += 1]) while parts.sum(&:size) > MAX_CHARACTERS && at < LENGTHS.size - 1
        add(pid, parts, cells) if parts.any?
      end

      # Estimates how many files a part of that length has.
      def files_in(files, length) = length ? [files.size * length / DAY.to_f, 1].max : 1

      # Builds the parts. Only the profiles of one part are in memory at once.
      def parts_of(files, length)
        profiles = files.lazy.filter_map { |it| yield it.path }
        profiles.chunk_while { |one, other| length && middle(span(one)) / length == middle(span(other)) / length }.map { |it| part(it) }.to_a
      end

      def merged(parts, length)
        key = ->(it) { middle([it.from, it.to]) / length }
        parts.chunk_while { |one, other| key[one] == key[other] }.map do |group|
          group.one? ? group.first : part(group.map { |it| Native.parse(it.file) }, group)
        end
      end

      def part(profiles, parts = nil)
        whole = profiles.one? ? profiles.first : Profile.merge(*profiles)
        file, facts = Native.period(whole, { type: @type })
        spans = parts ? parts.map { |it| [it.from, it.to] } : profiles.map { |it| span(it) }
        Part.new(file, facts, spans.map(&:first).min, spans.map(&:last).max, parts ? parts.sum(&:files) : profiles.size)
      end

      def add(pid, parts, cells)
        first = @parts.size
        @parts.concat(parts.map { |it| [pid, it] })
        ends = parts.map(&:to)
        @processes[pid][:cells].concat(cells.map { |from, to, weight| [from, to, weight, first + (ends.index { |it| it >= to } || (parts.size - 1))] })
      end

      def describe(pid, profile)
        @processes[pid] ||= { pid: pid, program: profile.meta[:program], cells: [] }
      end

      # Describes when the profile begins and ends, and how busy the process was: its CPU time, or else the time spent not
      # waiting.
      def cell(profile)
        @kind ||= profile.totals.key?("cpu") ? "cpu" : "wall"
        [*span(profile), @kind == "cpu" ? profile.totals.fetch("cpu", 0) : awake(profile)]
      end

      def awake(profile)
        return 0 unless profile.totals.key?("wall")

        profile.by(:state, type: :wall, limit: 0).sum { |it| it[:value] == "waiting" ? 0 : it[:weight] }
      end

      def span(profile)
        from = profile.meta[:started_at_ns] / 1_000_000
        [from, from + (profile.stats[:duration_ns] / 1_000_000)]
      end

      # Returns the middle in seconds.
      def middle(span) = span.sum / 2000

      def processes = @processes.values

      def parts
        places = @processes.keys.each_with_index.to_h
        @parts.map { |pid, it| { process: places.fetch(pid), from: it.from, to: it.to, files: it.files } }
      end
    end
  end
end
