# frozen_string_literal: true

require_relative "../store/file_name"
require_relative "../nearest"
require_relative "../option_fault"
require_relative "../process/signal_name"

module Profiler
  module Autoload
    # Settings from PROFILER_* in the environment. +profiler record+ writes these variables for its program, after checking them
    # by this same code.
    #
    # Ruby 2 can read this file, so that a program on an old Ruby prints one line and runs.
    class Settings
      # Raised for a path that cannot be written; the message names it.
      class Unwritable < StandardError; end

      MODE = "PROFILER_MODE"           # a mode, or several with commas between
      INTERVAL = "PROFILER_INTERVAL"   # microseconds
      FREQUENCY = "PROFILER_FREQUENCY" # samples a second
      MAX_OVERHEAD = "PROFILER_MAX_OVERHEAD" # share of the CPU time
      EVERY = "PROFILER_EVERY"         # objects, of which one is sampled
      EVERY_BYTES = "PROFILER_EVERY_BYTES" # of them, of which one object is sampled
      OWNERS = "PROFILER_OWNERS"     # as QUIET: memory from malloc has its owners
      OUT = "PROFILER_OUT"             # files, one a line
      FORMAT = "PROFILER_FORMAT"       # of all these files, where their extensions do not say it
      ENGINE = "PROFILER_ENGINE"
      DEPTH = "PROFILER_DEPTH"
      TRIM_PATH = "PROFILER_TRIM_PATH" # 1: short paths; or the directories to cut off, with : between
      TIMELINE = "PROFILER_TIMELINE" # as QUIET: each record is kept with its time
      FIBERS = "PROFILER_FIBERS"     # as QUIET: samples say which fiber they are of
      LABELS = "PROFILER_LABELS"       # on every sample: name=value, with commas between; a comma in a value as \,
      DURATION = "PROFILER_DURATION"   # seconds; then the files are written and the program continues
      SIGNAL = "PROFILER_SIGNAL"       # name of the signal that pauses (and writes) and resumes
      START_PAUSED = "PROFILER_START_PAUSED" # as QUIET
      MEMORY = "PROFILER_MEMORY"       # as QUIET: the memory at the start and the end; with CONTINUOUS also seconds between rows
      CONTINUOUS = "PROFILER_CONTINUOUS" # as QUIET: a profile for each period, in a directory, which OUT names
      TO = "PROFILER_TO"               # engines that get these profiles, with commas between: pyroscope, otlp
      PERIOD = "PROFILER_PERIOD"       # seconds
      KEEP = "PROFILER_KEEP"           # files in the directory
      FLIGHT = "PROFILER_FLIGHT"       # as QUIET: the last minutes, written at a signal, a crash, SIGTERM
      FLIGHT_OUT = "PROFILER_FLIGHT_OUT" # their directory, where OUT is that of a continuous session
      MINUTES = "PROFILER_MINUTES"
      CONTROL = "PROFILER_CONTROL"     # as QUIET, or a directory: a control socket, and no recording unless another variable wants one
      DUMP_SIGNAL = "PROFILER_DUMP_SIGNAL" # name of a signal that prints a dump on stderr; with CONTROL
      QUIET = "PROFILER_QUIET"         # anything but 0, false and nothing
      # The last three are internal. See {Claim}.
      CLAIMS = "PROFILER_CLAIMS"
      OWNER = "PROFILER_OWNER_PID"
      EXECS = "PROFILER_EXECS"

      NAMES = [MODE, INTERVAL, FREQUENCY, MAX_OVERHEAD, EVERY, EVERY_BYTES, OWNERS, OUT, FORMAT, ENGINE, DEPTH, TRIM_PATH, TIMELINE, FIBERS, LABELS, DURATION,
               SIGNAL, START_PAUSED, MEMORY, CONTINUOUS, TO, PERIOD, KEEP, FLIGHT, FLIGHT_OUT, MINUTES, CONTROL, DUMP_SIGNAL, QUIET, CLAIMS, OWNER,
               EXECS].freeze

      # Variables with paths, which are bytes.
      PATHS = [OUT, TRIM_PATH, FLIGHT_OUT, CONTROL, CLAIMS].freeze
      private_constant :PATHS

      PREFIX = "PROFILER_"
      # Variables that other parts of the profiler read.
      OTHERS = %w[PROFILER_TOKEN PROFILER_ON_DEMAND].freeze

      # The largest PROFILER_DURATION in seconds: 31 years.
      LONGEST = 1_000_000_000

      # The directory of a continuous session, unless OUT names one.
      DIRECTORY = "profiles"

      # Returns the default name of a file.
      def self.default_out(format = nil, time = Time.now)
        format ||= "pprof"
        "profile-#{time.strftime("%Y%m%d-%H%M%S")}.#{FileName::EXTENSIONS.fetch(format, format)}"
      end

      # Returns the value of PROFILER_LABELS for these labels: commas and backslashes in them are escaped with a backslash.
      #
      # @param labels [Array<String>] each +name=value+
      def self.join_labels(labels)
        labels.map { |it| it.gsub(/[\\,]/) { |special| "\\#{special}" } }.join(",")
      end

      # @param text [String] the value of PROFILER_LABELS
      # @return [Array<String>]
      def self.split_labels(text)
        text.scan(/\\[\\,]|[^,]|,/m).each_with_object([+""]) do |piece, labels|
          case piece
          when "," then labels << +""
          when /\A\\[\\,]\z/ then labels.last << piece[1]
          else labels.last << piece
          end
        end
      end

      attr_reader :format

      # @return [Array<String>] absolute, relative to the working directory of the start
      attr_reader :paths

      def initialize(env = ENV)
        @env = env
        @format = value(FORMAT)
        outs = value(OUT) ? pieces(value(OUT), "\n").reject(&:empty?) : []
        @named = !outs.empty?
        outs = [Settings.default_out(@format)] unless @named
        @paths = outs.map { |path| FileName.absolute(path.dup.force_encoding(Encoding.find("filesystem"))) }.uniq
      end

      # Returns whether the files' names were chosen. Otherwise every process adds its pid.
      def named?
        @named
      end

      # Returns whether the summary is suppressed.
      def quiet?
        flag?(QUIET)
      end

      # Returns whether the recording starts paused.
      def start_paused?
        flag?(START_PAUSED)
      end

      # @return [Float, nil] seconds
      def duration
        text = value(DURATION)
        return unless text

        seconds = Float(text, exception: false)
        return seconds if seconds&.positive? && seconds <= LONGEST

        raise OptionFault.error("duration", text, "is not a number of seconds above 0 and up to #{LONGEST}")
      end

      # @return [String, nil] without SIG
      def signal
        text = value(SIGNAL)
        text && SignalName.of(text)
      end

      # Keywords for {Session.start}.
      def session
        {
          mode: mode, interval: number(value(INTERVAL)), frequency: number(value(FREQUENCY)), max_overhead: float(MAX_OVERHEAD), every: number(value(EVERY)),
          every_bytes: number(value(EVERY_BYTES)), depth: number(value(DEPTH)), engine: value(ENGINE) && value(ENGINE).to_sym, static_labels: labels,
          trim_path: trim_path, timeline: flag?(TIMELINE) || page? || nil, fibers: flag?(FIBERS) || nil, owners: flag?(OWNERS) || nil
        }.compact
      end

      # Returns whether the process has a control socket: see {Profiler.control}.
      def control?
        flag?(CONTROL) || flag?(DUMP_SIGNAL)
      end

      # Returns keywords for {Control.beside}.
      def control
        { dump_signal: value(DUMP_SIGNAL) }.compact
      end

      # Returns whether only a control socket is wanted.
      def control_only?
        control? && !@named && [CLAIMS, CONTINUOUS, FLIGHT, SIGNAL, DURATION].none? { |name| flag?(name) }
      end

      # Returns whether the process is profiled continuously: see {Profiler.continuous}.
      def continuous?
        flag?(CONTINUOUS)
      end

      # Keywords for {Profiler.continuous}.
      #
      # @raise [ArgumentError] for what a continuous session cannot do
      def continuous
        require_no_recording(CONTINUOUS, *(SIGNAL unless flight?))
        engines = value(TO) && value(TO).split(",").map(&:strip)
        { out: value(OUT) || (DIRECTORY unless engines), to: engines, format: format, period: float(PERIOD), keep: number(value(KEEP)), memory: memory }.compact.merge(session)
      end

      # Returns whether the memory of the process is kept, or the seconds between its rows.
      #
      # @return [true, Float, String, nil]
      def memory
        return unless flag?(MEMORY)

        ["1", "true"].include?(value(MEMORY)) || float(MEMORY)
      end

      # Returns whether the process keeps its last minutes: see {Profiler.flight_recorder}.
      def flight?
        flag?(FLIGHT)
      end

      # Keywords for {Profiler.flight_recorder}.
      #
      # @raise [ArgumentError] for what a flight recorder cannot do
      def flight
        require_no_recording(FLIGHT)
        out = value(FLIGHT_OUT) || (value(OUT) unless continuous?)
        { out: out, format: format, minutes: float(MINUTES), keep: number(value(KEEP)), signal: signal }.compact.merge(session)
      end

      # Checks everything that could fail later, without leaving anything behind.
      #
      # @raise [ArgumentError] for a value that is not allowed
      def check
        Session.check(**session)
        duration
        signal
        paths.each { |path| check_path(path) }
        nil
      end

      # Returns a sentence for each variable whose name is almost that of a setting: it has no effect, and is probably misspelt.
      #
      # @return [Array<String>]
      def misspelt
        unknown = @env.keys.select { |name| name.start_with?(PREFIX) } - NAMES - OTHERS
        unknown.sort.map do |name|
          meant = Nearest.of(name.delete_prefix(PREFIX), (NAMES + OTHERS).map { |it| it.delete_prefix(PREFIX) })
          "#{name} has no effect: did you mean #{PREFIX}#{meant}?" if meant
        end.compact
      end

      private

      # @raise [ArgumentError] for bytes that are not text
      def value(name)
        value = @env[name]
        return if value.nil? || value.empty?
        return value if value.valid_encoding? || PATHS.include?(name)

        text = value.dup.force_encoding(Encoding::UTF_8) # in the locale C only ASCII is valid
        text.valid_encoding? ? text : raise(ArgumentError, "#{name}: #{text.inspect} is not text in UTF-8")
      end

      # Refuses variables that need a recording, which an always-on session does not have.
      def require_no_recording(variable, *more)
        wrong = [DURATION, START_PAUSED, *more].find { |name| flag?(name) }
        wrong = "profiler record" if value(CLAIMS)
        raise ArgumentError, "#{wrong} cannot be used with #{variable}" if wrong
      end

      # Does what {number} does, for numbers with a decimal point.
      def float(name)
        value(name) && (Float(value(name), exception: false) || value(name))
      end

      # Converts integers. Other text stays, so that the session's error names it.
      def number(text)
        text && text.match?(/\A[+-]?\d+\z/) ? Integer(text, 10) : text
      end

      def flag?(name)
        ![nil, "", "0", "false"].include?(@env[name])
      end

      # Paths are bytes: split would refuse bytes that are not text in the locale's encoding.
      def pieces(paths, separator)
        paths.b.split(separator).map { |path| path.force_encoding(paths.encoding) }
      end

      # Returns whether a page is written, which shows time only with a timeline.
      def page?
        format ? format == "html" : paths.any? { |path| path.end_with?(".html") }
      end

      def trim_path
        return unless flag?(TRIM_PATH)

        %w[1 true].include?(value(TRIM_PATH)) || pieces(value(TRIM_PATH), File::PATH_SEPARATOR)
      end

      def labels
        value(LABELS) && Settings.split_labels(value(LABELS)).map { |pair| label(pair) }.to_h
      end

      def label(pair)
        name, value = pair.split("=", 2)
        return [name.strip, value.strip] if value && !name.strip.empty?

        raise OptionFault.error("label", pair, "is not NAME=VALUE")
      end

      def mode
        modes = value(MODE) && value(MODE).split(",").map { |mode| mode.strip.to_sym }
        modes && modes.size == 1 ? modes.first : modes
      end

      def check_path(path)
        Output.new(path, format: format)
      rescue SystemCallError => e
        raise Unwritable, "cannot write #{path}: #{SystemCallError.new(e.errno).message}"
      end
    end
  end
end
