# frozen_string_literal: true

require "zlib"
require_relative "protobuf"

# A pprof file as other people's servers read it, without any code of the profiler: fields of the public schema, and no other.
class Pprof
  # +stack+ has names of functions, leaf first. +labels+ has Strings, and Integers for labels that are numbers.
  Sample = Struct.new(:stack, :values, :labels)

  # @return [Array<Array(String, String)>] names and units
  attr_reader :sample_types
  # @return [Array(String, String), nil]
  attr_reader :period_type
  # @return [Integer] nanoseconds since 1970
  attr_reader :time
  # @return [Integer] nanoseconds
  attr_reader :duration
  # @return [Integer] bytes, uncompressed
  attr_reader :size
  attr_reader :period, :samples, :strings

  # @param bytes [String] gzipped or not
  # @raise [Protobuf::Malformed]
  def initialize(bytes)
    bytes = Zlib.gunzip(bytes) if bytes.start_with?("\x1f\x8b".b)
    @size = bytes.bytesize
    @fields = Protobuf.fields(bytes)
    @strings = @fields[6].map { |text| text.dup.force_encoding(Encoding::UTF_8) }
    @sample_types = @fields[1].map { |type| value_type(type) }
    @period_type = @fields[11].map { |type| value_type(type) }.last
    @time, @duration, @period = [9, 10, 12].map { |number| Protobuf.signed(@fields[number].last) }
    @samples = read_samples
  rescue Zlib::Error => e
    raise Protobuf::Malformed, e.message
  end

  # @param type [String]
  # @return [Integer] the sum of all samples
  def total(type)
    index = sample_types.index { |name, _unit| name == type }
    samples.sum { |sample| sample.values.fetch(index) }
  end

  private

  def string(index)
    @strings[index.to_i] || raise(Protobuf::Malformed, "no string #{index}")
  end

  def value_type(bytes)
    type = Protobuf.fields(bytes)
    [string(type[1].last), string(type[2].last)]
  end

  def read_samples
    functions = by_id(5) { |function| string(function[2].last) }
    # The lines of a location are inlined calls, the callee first.
    locations = by_id(4) { |location| location[4].map { |line| functions[Protobuf.fields(line)[1].last] } }
    @fields[2].map do |bytes|
      sample = Protobuf.fields(bytes)
      stack = Protobuf.integers(sample[1]).flat_map { |id| locations[id] }
      Sample.new(stack, Protobuf.integers(sample[2]).map { |value| Protobuf.signed(value) }, sample[3].to_h { |label| read_label(label) })
    end
  end

  def by_id(number)
    found = Hash.new { |_found, id| raise Protobuf::Malformed, "field #{number} has no entry #{id.inspect}" }
    @fields[number].each_with_object(found) do |bytes, _|
      entry = Protobuf.fields(bytes)
      raise Protobuf::Malformed, "an id of field #{number} is 0" if entry[1].last.to_i.zero?

      found[entry[1].last] = yield(entry)
    end
  end

  def read_label(bytes)
    label = Protobuf.fields(bytes)
    [string(label[1].last), label[2].last.to_i.positive? ? string(label[2].last) : Protobuf.signed(label[3].last)]
  end
end
