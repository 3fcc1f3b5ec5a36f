# frozen_string_literal: true

require_relative "file_name"

module Profiler
  # Writes a file atomically: under a temporary name, which is then renamed. The path is checked before the work starts, so that
  # errors are reported early. That check leaves no file on the disk, because a process may end without cleaning up.
  #
  # Symbolic links are followed. A device or a named pipe is written to directly, because a rename would replace it by a file.
  class Output
    # Refuses a file that is larger than this process may write: the write would end it by SIGXFSZ. Native code needs no such
    # check, because its threads block signals.
    #
    # @raise [Errno::EFBIG]
    # @api private
    def self.require_size(bytes)
      raise Errno::EFBIG if bytes > Process.getrlimit(:FSIZE).first
    end

    # @param format [Symbol, String, nil] by the path's extension when nil
    # @param options [Hash] as for {Profile#dump}
    # @raise [ArgumentError] if the format is not known, or the path is none
    # @raise [SystemCallError] if the place cannot be written to
    def initialize(path, format: nil, source: false, **options)
      @options = options
      @source = source
      # A path is treated as bytes, because expand_path would refuse to join two encodings.
      @path = FileName.absolute(FileName.of(path).dup.force_encoding(Encoding.find("filesystem")))
      @path = File.realdirpath(@path) if File.symlink?(@path)
      @format = format ? AnyObject.word("format", format) : Native.format_of(@path)
      Native.check_format(@format)
      raise Errno::EISDIR, @path if directory?

      @pid = Process.pid
      @stream = File.writable?(@path) && !File.stat(@path).file?
      beside unless @stream
    rescue SystemCallError => e
      raise e.class, path.to_s
    end

    # Returns whether it is a page, which shows time only with a timeline.
    def page?
      @format == "html"
    end

    # Writes the profile and moves the file into place. A forked child writes a file with its own pid in the name, as this one
    # is the parent's.
    #
    # @return [String] the path
    def write(profile)
      @path = FileName.with_pid(@path) unless @stream || @pid.equal?(Process.pid) # not ==, which an app may have redefined
      gzip = Native.packs(@path, @format)
      if page? && (@source || ENV.key?("PROFILER_EDITOR") || ENV.key?("RAILS_EDITOR"))
        page = profile.dump(@format, source: @source, **@options)
        replace(gzip ? Native.gzip(page) : page)
      else
        profile.write_into(@path, @format, gzip: gzip, replace: !@stream, **@options)
      end
      @path
    rescue SystemCallError => e
      raise e.class, @path
    end

    # Replaces the file by bytes that are not a profile. An interrupt waits for that.
    #
    # @raise [SystemCallError] if the disk is full, or the place is gone; its message names the path
    def replace(bytes)
      return File.binwrite(@path, bytes) if @stream

      Output.require_size(bytes.bytesize)
      beside do |file|
        file.write(bytes)
        file.close
        File.rename(file.path, @path)
      end
    rescue SystemCallError => e
      raise e.class, @path # not the temporary name, or none
    end

    private

    # Returns whether the path is a directory. File.directory? would first call to_io on the String, and with it a method_missing that
      # an app defines for all objects. A
    # rescued exception would show under ruby -d.
    def directory?
      !Dir.glob(["."], base: @path).empty?
    end

    # Creates a temporary file, which is gone afterwards.
    def beside
      temporary = "#{@path}.#{Random.urandom(4).unpack1("H*")}.tmp"
      Thread.handle_interrupt(Object => :never) do
        File.open(temporary, File::WRONLY | File::CREAT | File::EXCL | File::BINARY, 0o600) do |file|
          yield file if block_given?
        ensure
          discard(temporary)
        end
      end
    end

    def discard(temporary)
      File.delete(temporary)
    rescue SystemCallError
      nil # it was moved, or the directory is gone
    end
  end
end
