# frozen_string_literal: true

require_relative "store/file_name"

module Profiler
  # The bytes of a file that may be anything.
  #
  # @api private
  module Input
    # The most bytes that are read, packed or not: what the extension would unpack.
    MAX_BYTES = 256 * 1024 * 1024
    PIECE_BYTES = 1024 * 1024

    # Reads a file in pieces, as a device has no size and may have no end.
    #
    # @param path [String]
    # @return [String] binary
    # @raise [ArgumentError] for something that is not a path
    # @raise [SystemCallError] if it cannot be read
    # @raise [FormatError] if it is larger than any profile
    def self.read(path)
      File.open(FileName.of(path), "rb") do |file|
        bytes = String.new
        until file.size > MAX_BYTES || bytes.bytesize > MAX_BYTES
          piece = file.read(PIECE_BYTES)
          return bytes unless piece

          bytes << piece
        end
      end
      raise FormatError, "#{path}: too large to read: it has more than #{MAX_BYTES >> 20} MiB"
    end
  end
end
