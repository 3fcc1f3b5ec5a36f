# frozen_string_literal: true

require "securerandom"

module Profiler
  # A file to be written: beside it first, then renamed, so that nobody ever sees a part of it. Made
  # before the work starts, so that a path that cannot be written is told before and not after.
  class Output
    # @param path [String]
    # @param format [Symbol, String, nil] by the path's extension when nil
    # @raise [ArgumentError] if the format is not known
    # @raise [SystemCallError] if the place cannot be written to
    def initialize(path, format: nil)
      @path = File.expand_path(path.to_s)
      @format = (format || Profile.send(:_format_of, @path)).to_s
      Profile.send(:_check_format, @format)
      raise Errno::EISDIR, @path if File.directory?(@path)

      @pid = Process.pid
      @temporary = "#{@path}.#{SecureRandom.hex(4)}.tmp"
      @file = File.open(@temporary, File::WRONLY | File::CREAT | File::EXCL | File::BINARY, 0o600)
    rescue SystemCallError => e
      raise e.class, path.to_s
    end

    # Writes the profile and puts the file in its place.
    #
    # @return [String] the path
    def write(profile)
      @file.write(profile.dump(@format))
      @file.close
      File.rename(@temporary, @path)
      @temporary = nil
      @path
    ensure
      discard
    end

    # Leaves nothing behind, unless it was written. Only the process that made the file does that.
    def discard
      return unless @temporary

      @file.close
      File.delete(@temporary) if @pid == Process.pid
      @temporary = nil
    rescue SystemCallError
      # The directory is gone, or is no longer ours: there is nothing more to tidy.
      @temporary = nil
    end
  end
end
