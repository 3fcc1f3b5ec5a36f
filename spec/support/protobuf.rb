# frozen_string_literal: true

# The wire format of protobuf, for specs that read messages without generated code: neither ours nor anybody's.
module Protobuf
  class Malformed < StandardError; end

  module_function

  # The fields of a message: Integers, and Strings of bytes for texts, messages and packed numbers.
  #
  # @param bytes [String]
  # @return [Hash{Integer => Array}] of each field number the values, in their order; empty for a field that is not there
  # @raise [Malformed]
  def fields(bytes)
    found = Hash.new([].freeze)
    at = 0
    while at < bytes.bytesize
      key, at = varint(bytes, at)
      value, at = value_at(bytes, at, key & 7)
      found[key >> 3] = [] unless found.key?(key >> 3)
      found[key >> 3] << value
    end
    found
  end

  # @param values [Array<Integer, String>] of a repeated number, packed or not
  # @return [Array<Integer>]
  def integers(values)
    values.flat_map { |value| value.is_a?(Integer) ? value : varints(value) }
  end

  # @param number [Integer, nil] as it is on the wire
  # @return [Integer] the int64
  def signed(number)
    number.to_i >= 1 << 63 ? number - (1 << 64) : number.to_i
  end

  # @param fields [Hash{Integer => Object}] a value of nil is left out, an Array is a repeated field, a Hash a message
  # @return [String]
  def encode(fields)
    fields.flat_map { |number, value| Array(value.is_a?(Hash) ? [value] : value).map { |one| encode_field(number, one) } }.join.b
  end

  # @api private
  def encode_field(number, value)
    return encode_varint(number << 3) + encode_varint(value) if value.is_a?(Integer)

    bytes = value.is_a?(Hash) ? encode(value) : value.b
    encode_varint((number << 3) | 2) + encode_varint(bytes.bytesize) + bytes
  end

  # @api private
  def encode_varint(number)
    number %= 1 << 64
    groups = [number & 127]
    groups << (number & 127) while (number >>= 7).positive?
    groups.each_with_index.map { |group, index| index == groups.size - 1 ? group : group | 128 }.pack("C*")
  end

  # @api private
  def varints(bytes)
    at = 0
    numbers = []
    while at < bytes.bytesize
      number, at = varint(bytes, at)
      numbers << number
    end
    numbers
  end

  # @api private
  def varint(bytes, at)
    number = shift = 0
    loop do
      byte = bytes.getbyte(at)
      raise Malformed, "a number is cut or too long" if byte.nil? || shift > 63

      number |= (byte & 127) << shift
      at += 1
      shift += 7
      return [number & ((1 << 64) - 1), at] if byte < 128
    end
  end

  # @api private
  def value_at(bytes, at, type)
    return varint(bytes, at) if type.zero?

    size = { 1 => 8, 5 => 4 }[type]
    size, at = varint(bytes, at) if type == 2
    raise Malformed, "no wire type is #{type}" unless size
    raise Malformed, "a field is cut" if at + size > bytes.bytesize

    part = bytes.byteslice(at, size)
    [type == 2 ? part : part.unpack1(type == 1 ? "Q<" : "L<"), at + size]
  end
end
