# frozen_string_literal: true

require_relative "file_name"

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

      open_beside
    rescue SystemCallError => e
      raise e.class, path.to_s
    end

    # Writes the profile and puts the file in its place. In a forked child that is another one, with its
    # pid in the name: this one is the parent's.
    #
    # @return [String] the path
    def write(profile)
      make_own unless @pid == Process.pid
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

    private

    def open_beside
      @pid = Process.pid
      @temporary = "#{@path}.#{Random.urandom(4).unpack1("H*")}.tmp"
      @file = File.open(@temporary, File::WRONLY | File::CREAT | File::EXCL | File::BINARY, 0o600)
    end

    def make_own
      @file.close
      @temporary = nil
      @path = FileName.with_pid(@path)
      open_beside
    end
  end
end
