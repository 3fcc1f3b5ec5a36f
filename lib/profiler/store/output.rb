# frozen_string_literal: true

require_relative "file_name"

module Profiler
  # Writes a file atomically: under a temporary name, then by renaming. The path is checked before the work starts, so that
  # errors come early. Nothing stays on the disk from that check, as a process may end without cleaning up.
  #
  # Symbolic links are followed. A device or a named pipe is written to, as a rename would replace it by a file.
  class Output
    # @param path [String]
    # @param format [Symbol, String, nil] by the path's extension when nil
    # @param options [Hash] as for {Profile#dump}
    # @raise [ArgumentError] if the format is not known
    # @raise [SystemCallError] if the place cannot be written to
    def initialize(path, format: nil, **options)
      @options = options
      # A path is bytes: expand_path would refuse to join those of two encodings.
      @path = File.expand_path(path.to_s.dup.force_encoding(Encoding.find("filesystem")))
      @path = File.realdirpath(@path) if File.symlink?(@path)
      @format = (format || Native.format_of(@path)).to_s
      Native.check_format(@format)
      raise Errno::EISDIR, @path if directory?

      @pid = Process.pid
      @stream = File.writable?(@path) && !File.stat(@path).file?
      return if @stream

      open_beside
    rescue SystemCallError => e
      raise e.class, path.to_s
    ensure
      discard
    end

    # Writes the profile and moves the file into place. A forked child writes a file with its own pid in the name, as this one
    # is the parent's.
    #
    # @return [String] the path
    def write(profile)
      @path = FileName.with_pid(@path) unless @stream || @pid.equal?(Process.pid) # not ==, which an app may have defined anew
      profile.write_into(@path, @format, gzip: Native.packs(@path, @format), replace: !@stream, **@options)
      @path
    rescue SystemCallError => e
      raise e.class, @path
    end

    # Replaces the file by what the block writes. If anything ends the block, an interrupt too, the old file stays and no
    # temporary file does. A device or a pipe is written to directly.
    #
    # @yieldparam path [String]
    # @return [String] the path
    # @raise [SystemCallError] if the disk is full, or the place is gone; its message names the path
    def replace
      if @stream
        yield @path
        return @path
      end
      open_beside
      yield @temporary
      @file.close
      File.rename(@temporary, @path)
      @temporary = nil
      @path
    rescue SystemCallError => e
      raise e.class, @path # not the temporary name, or none
    ensure
      discard
    end

    private

    # File.directory? would call to_io on the String first, and so a method_missing that an app defines for all objects. A
    # rescued exception would show under ruby -d.
    def directory?
      !Dir.glob(["."], base: @path).empty?
    end

    # Removes the temporary file, unless it was moved. Exceptions from outside wait for that.
    def discard
      return unless @temporary

      Thread.handle_interrupt(Object => :never) do
        @file&.close # nil if it could not be opened
        # In a child that a trap has forked meanwhile, the file is the parent's, which is writing it.
        File.delete(@temporary) if @writer.equal?(Process.pid)
      end
    rescue SystemCallError
      nil # the directory is gone, or is no longer ours: there is nothing more to tidy
    ensure
      @temporary = nil
    end

    def open_beside
      Thread.handle_interrupt(Object => :never) do
        @temporary = "#{@path}.#{Random.urandom(4).unpack1("H*")}.tmp"
        @writer = Process.pid
        @file = File.open(@temporary, File::WRONLY | File::CREAT | File::EXCL | File::BINARY, 0o600)
      end
    end
  end
end
