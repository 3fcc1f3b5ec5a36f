# frozen_string_literal: true

require_relative "../any_object"

module Profiler
  # Ruby's own classes, which this module's code finds first: the specs of an app may put others in their place, as FakeFS does.
  File = ::File
  Dir = ::Dir
  private_constant :File, :Dir

  # Names of the files that processes of one program write side by side.
  #
  # Ruby 2 can read this file: see autoload.rb.
  module FileName
    # Extensions that differ from the name of their format.
    EXTENSIONS = { "pprof" => "pb.gz", "text" => "txt" }.freeze

    class << self
      # Returns the path that an option or an argument stands for.
      #
      # @param object [String, #to_path]
      # @return [String]
      # @raise [ArgumentError] for anything else: Ruby would take a number for a descriptor of the app, and close that; also for text
      #   in an encoding such as UTF-16
      def of(object)
        path = AnyObject.can?(object, :to_path) ? object.to_path : object
        raise ArgumentError, "#{AnyObject.text(object)} is not a path (allowed: a String, or an object with to_path)" unless String === path

        require_bytes(path)
      end

      # Returns the absolute path. A tilde means the home directory, as in Ruby, but only if there is one: otherwise it is part of a
      # name.
      #
      # @param path [String]
      # @return [String]
      # @raise [ArgumentError] for a path with a zero byte, or in an encoding such as UTF-16
      def absolute(path)
        require_bytes(path)
        begin
          File.expand_path(path)
        rescue ArgumentError
          File.expand_path(File.join(".", path))
        end
      end

      # Returns the path with the process's id before its extension: +out.pb.gz+ becomes +out.42.pb.gz+.
      def with_pid(path, pid = Process.pid)
        ending = ending_of(path)
        "#{path[0, path.length - ending.length]}.#{pid}#{ending}"
      end

      private

      def require_bytes(path)
        return path if path.encoding.ascii_compatible?

        raise ArgumentError, "#{AnyObject.text(path)} is not a path, because its encoding is #{path.encoding}"
      end

      # Returns the shortest ending that stands for the same format as the whole name: for my.app.pb.gz it is .pb.gz.
      def ending_of(path)
        name = File.basename(path)
        dots = (1...name.length).select { |place| name[place] == "." }.reverse
        meant = format_of(name)
        dots.map { |dot| name[dot..-1] }.find { |ending| meant.nil? || format_of("x#{ending}") == meant } || ""
      end

      def format_of(name)
        Native.format_of(name)
      rescue ArgumentError
        nil # the format was said otherwise
      end
    end
  end
end
