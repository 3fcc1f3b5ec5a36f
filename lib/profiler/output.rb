# frozen_string_literal: true

require_relative "file_name"

module Profiler
  # A file to be written: beside it first, then renamed, so that nobody ever sees a part of it. Tried
  # before the work starts, so that a path that cannot be written is told before and not after; but nothing
  # is there until it is written, as a process can end in ways that let nobody tidy.
  class Output
    # @param path [String]
    # @param format [Symbol, String, nil] by the path's extension when nil
    # @param options [Hash] as for {Profile#dump}
    # @raise [ArgumentError] if the format is not known
    # @raise [SystemCallError] if the place cannot be written to
    def initialize(path, format: nil, **options)
      @options = options
      @path = File.expand_path(path.to_s)
      @format = (format || Profile.send(:_format_of, @path)).to_s
      Profile.send(:_check_format, @format)
      raise Errno::EISDIR, @path if directory?

      @pid = Process.pid
      open_beside
      discard
    rescue SystemCallError => e
      raise e.class, path.to_s
    end

    # Writes the profile and puts the file in its place. In a forked child that is another one, with its
    # pid in the name: this one is the parent's.
    #
    # @return [String] the path
    def write(profile)
      @path = FileName.with_pid(@path) unless @pid.equal?(Process.pid) # not ==, which an app may have defined anew
      replace { |path| profile.write_into(path, @format, gzip: Profile.send(:_packs, @path, @format), **@options) }
    end

    # Puts in its place what the block writes into a file that is there already. Whatever ends the block, an interrupt too, leaves
    # the place as it was and no temporary file.
    #
    # @yieldparam path [String]
    # @return [String] the path
    def replace
      open_beside
      yield @temporary
      @file.close
      File.rename(@temporary, @path)
      @temporary = nil
      @path
    ensure
      discard
    end

    private

    # File.directory? would ask the String for to_io first, and so the method_missing of an app that has one for all objects;
    # and an exception that is rescued shows where ruby -d runs.
    def directory?
      !Dir.glob(["."], base: @path).empty?
    end

    # Leaves nothing behind, unless it was written.
    def discard
      return unless @temporary

      @file&.close # nil if an exception came in just before it was there
      # In a child that a trap has forked meanwhile, it is the parent's, which is writing it.
      File.delete(@temporary) if @writer.equal?(Process.pid)
    rescue SystemCallError
      nil # the directory is gone, or is no longer ours: there is nothing more to tidy
    ensure
      @temporary = nil
    end

    def open_beside
      @temporary = "#{@path}.#{Random.urandom(4).unpack1("H*")}.tmp"
      @writer = Process.pid
      @file = File.open(@temporary, File::WRONLY | File::CREAT | File::EXCL | File::BINARY, 0o600)
    end
  end
end
