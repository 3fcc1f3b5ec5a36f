# frozen_string_literal: true

require_relative "file_name"

module Profiler
  # A directory of profiles. Its mode is 0700, its files have 0600, and at most +keep+ of them are kept, the newest always. It
  # only touches files with names of its own.
  class Directory
    # 20261122T003012.123-4711-9f86d081.pb.gz
    OURS = /\A\d{8}T\d{6}\.\d{3}-\d+-\h{8}\.[\w.]+(?<!\.tmp)\z/.freeze

    # Returns the names of profiles in a directory. Names of other files there may be any bytes.
    #
    # @param path [String]
    # @return [Array<String>]
    # @raise [SystemCallError]
    # @api private
    def self.ours_in(path) = Dir.children(path).select { |name| OURS.match?(name.b) }

    attr_reader :path

    # @param path [String] created on the first write
    # @param format [Symbol, String] the extension of the files, see docs/formats.md
    # @param keep [Integer] files; the oldest are removed
    # @raise [ArgumentError] for a value that is not allowed
    def initialize(path, format: "pb.gz", keep: 100)
      path = path.to_path if AnyObject.can?(path, :to_path)
      raise ArgumentError, "out: #{AnyObject.text(path)} is not the name of a directory" unless String === path && !path.empty?
      raise ArgumentError, "out: #{path.inspect} leads upwards (allowed: a directory without ..)" if path.b.split("/").include?("..")
      @path = FileName.absolute(path)
      format = AnyObject.word("format", format)
      @extension = FileName::EXTENSIONS.fetch(format, format.delete_prefix("."))
      @keep = AnyObject.integer("keep", keep)
      Native.format_of("x.#{@extension}") if defined?(Profile) # raises for what is none
    end

    # Returns an unguessable name for the next profile.
    #
    # @return [String]
    def new_id
      "#{Time.at(Clock.time).utc.strftime("%Y%m%dT%H%M%S.%L")}-#{Process.pid}-#{Random.urandom(4).unpack1("H*")}.#{@extension}"
    end

    # @param result [Recording::Result]
    # @return [String] the file
    # @raise [SystemCallError, ArgumentError] if the directory is a link, belongs to another user, or is writable by others
    def store(result)
      write(result.profile, result.id)
    end

    # Stores a profile, without the GVL and on no other Ruby thread. An interrupt leaves no file behind.
    #
    # @return [String] the file
    # @raise [SystemCallError, ArgumentError] see {store}
    def write(profile, name = new_id)
      file = File.join(@path, name)
      profile.write_into(file, Native.format_of(file), gzip: Native.packs(file, Native.format_of(file)), replace: true, keep: @keep)
      file
    rescue SystemCallError => e
      raise e.class, file
    end

    # @param name [String, nil] nil: the newest
    # @return [Profile, nil] nil if it does not exist
    # @raise [FormatError] if its format cannot be read
    def fetch(name)
      return unless File.exist?(@path)

      prepare
      there = Directory.ours_in(@path)
      name = name ? there.find { |it| it == name } : there.max_by { |it| File.mtime(File.join(@path, it)) }
      Profile.load(File.join(@path, name)) if name
    rescue Errno::ENOENT
      nil
    end

    # Returns the names of all profiles, the newest first.
    #
    # @return [Array<String>]
    # @raise [SystemCallError, ArgumentError] see {store}
    def list
      return [] unless File.exist?(@path)

      prepare
      Directory.ours_in(@path).sort.reverse # a name begins with the time
    end

    # Creates the directory, and checks it.
    #
    # @raise [SystemCallError, ArgumentError] see {store}
    def prepare
      Native.prepare_directory(@path)
    rescue SystemCallError => e
      raise e.class, @path
    end
  end
end
