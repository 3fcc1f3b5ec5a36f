# frozen_string_literal: true

module Profiler
  # What a session saw. Reopened here: the rest is native. Immutable.
  class Profile
    # What the block given to {Profiler.run} returned.
    attr_reader :value

    # Reads a file that {#save} wrote as +.pb.gz+.
    #
    # @param path [String]
    # @return [Profile]
    # @raise [SystemCallError] if it cannot be read
    # @raise [FormatError] if it is something else, or cut off
    def self.load(path)
      bytes = File.binread(path)
      begin
        _parse(bytes)
      rescue FormatError => e
        raise FormatError, "#{path}: #{e.message}"
      end
    end

    # Writes the profile, readable by its owner alone. A file that is there is replaced as a whole.
    #
    # @param path [String] its extension says the format: .pb.gz, .svg, .folded, .txt
    # @param format [Symbol, String, nil] says it instead
    # @return [String] the path
    # @raise [ArgumentError] if the format is not known
    # @raise [SystemCallError] if it cannot be written
    def save(path, format: nil)
      Output.new(path, format: format).write(self)
    end

    # The profile as the bytes of a file.
    #
    # @param format [Symbol, String] pprof, folded, svg, text
    # @return [String] binary
    def dump(format)
      _write(format.to_s)
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
    # @return [String]
    def report(limit: 30, sort: :self, color: false)
      _report(checked_limit(limit), by_total?(sort), color ? true : false)
    end

    # The heaviest functions.
    #
    # @return [Array<Hash>] +name path first_line self total+, times in nanoseconds
    def top(limit: 30, sort: :self)
      _top(checked_limit(limit), by_total?(sort)).map do |name, path, first_line, own, total|
        { name: name, path: path, first_line: first_line, self: own, total: total }
      end
    end

    # The rows.
    #
    # @return [Array<Sample>]
    def samples
      frames, rows = _rows
      frames.map! { |name, class_name, method_name, path, line| new_frame(name, class_name, method_name, path, line) }
      rows.map do |stack, thread_id, thread_name, state, labels, weights|
        Sample.new(frames: stack.map { |place| frames[place] }, thread_id: thread_id, thread_name: thread_name,
                   state: state, labels: labels, **WEIGHTS.zip(weights).to_h).freeze
      end
    end

    def inspect
      it = stats
      format("#<Profiler::Profile %s, %.3f s, %.3f s of CPU, %d samples>",
             meta[:modes].join("+"), it[:duration_ns] / 1e9, it[:cpu_ns] / 1e9, it[:samples])
    end

    # @api private
    def with_value(value)
      @value = value
      self
    end

    WEIGHTS = %i[count cpu wall gvl_wait gc alloc_objects alloc_bytes inuse_objects inuse_bytes].freeze
    private_constant :WEIGHTS

    private :_write, :_report, :_rows, :_top
    private_class_method :_parse, :_format_of, :_check_format

    private

    def new_frame(name, class_name, method_name, path, line)
      Frame.new(name: name, class_name: class_name, method_name: method_name, path: path, line: line).freeze
    end

    def checked_limit(limit)
      return limit if limit.is_a?(Integer) && !limit.negative?

      raise ArgumentError, "limit: #{limit.inspect} is not an Integer from 0 (all) on"
    end

    def by_total?(sort)
      return sort == :total if %i[self total].include?(sort)

      raise ArgumentError, "sort: #{sort.inspect} is not an order (allowed: :self, :total)"
    end
  end
end
