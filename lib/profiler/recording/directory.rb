# frozen_string_literal: true

require "fileutils"
require_relative "../file_name"

module Profiler
  class Recording
    # A directory of profiles: its mode is 0700, its files are 0600, and at most +keep+ of them stay. It only touches its own
    # names.
    class Directory
      # 20261122T003012.123-4711-9f86d081.pb.gz
      OURS = /\A\d{8}T\d{6}\.\d{3}-\d+-\h{8}\.[\w.]+\z/.freeze

      attr_reader :path

      # @param path [String] created on the first write
      # @param format [Symbol, String] the extension of the files, see docs/formats.md
      # @param keep [Integer] files; the oldest are removed
      # @raise [ArgumentError]
      def initialize(path, format: "pb.gz", keep: 100)
        raise ArgumentError, "out: #{path.inspect} leads upwards (allowed: a directory without ..)" if path.to_s.split("/").include?("..")
        raise ArgumentError, "out: #{path.inspect} is not the name of a directory" if path.to_s.empty?
        raise ArgumentError, "keep: #{keep.inspect} is not an Integer from 1 on" unless keep.is_a?(Integer) && keep.positive?

        @path = File.expand_path(path.to_s)
        @extension = FileName::EXTENSIONS.fetch(format.to_s, format.to_s.delete_prefix("."))
        @keep = keep
        Native.format_of("x.#{@extension}") if defined?(Profile) # raises for what is none
      end

      # An unguessable name for the next profile.
      #
      # @return [String]
      def new_id
        "#{Time.now.utc.strftime("%Y%m%dT%H%M%S.%L")}-#{Process.pid}-#{Random.urandom(4).unpack1("H*")}.#{@extension}"
      end

      # @param result [Result]
      # @return [String] the file
      # @raise [SystemCallError, ArgumentError] if the directory is a link, somebody else's, or writable by others
      def store(result)
        prepare
        file = Output.new(File.join(@path, result.id)).write(result.profile)
        sweep
        file
      end

      # @param name [String, nil] nil: the newest
      # @return [Profile, nil] nil if it does not exist
      # @raise [FormatError] if its format cannot be read
      def fetch(name)
        check
        name = name ? ours.find { |it| it == name } : ours.max
        Profile.load(File.join(@path, name)) if name
      rescue Errno::ENOENT
        nil
      end

      # Creates the directory, and checks it.
      #
      # @raise [SystemCallError, ArgumentError] as {store}
      def prepare
        FileUtils.mkdir_p(File.dirname(@path))
        begin
          Dir.mkdir(@path, 0o700)
        rescue Errno::EEXIST
          nil
        end
        check
      end

      private

      def check
        stat = File.lstat(@path)
        wrong = stat.symlink? && "is a link" || !stat.directory? && "is no directory" ||
                stat.uid != Process.euid && "belongs to somebody else" || (stat.mode & 0o022).positive? && "can be written to by others"
        raise ArgumentError, "out: #{@path} #{wrong}" if wrong
      end

      # Removes the oldest files, as other processes do concurrently.
      def sweep
        there = ours
        there.min([there.size - @keep, 0].max).each do |name|
          File.delete(File.join(@path, name))
        rescue Errno::ENOENT
          nil
        end
      end

      def ours
        Dir.children(@path).grep(OURS).reject { |name| name.end_with?(".tmp") }
      end
    end
  end
end
