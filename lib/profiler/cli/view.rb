# frozen_string_literal: true

require "rbconfig"
require "tmpdir"
require_relative "options"
require_relative "command"

module Profiler
  module CLI
    # +profiler view FILE+: opens the flame graph in a browser, or writes a file for another viewer.
    class View < Command
      include Options

      SUMMARY = "Opens a recorded profile as a flame graph, or in a viewer."
      USAGE = "view [FILE] [options]"
      EXAMPLES = <<~TEXT
        profiler view profile.pb.gz
        profiler view profile.pb.gz --style reverse --app-only
        profiler view profile.pb.gz --in firefox
        BROWSER=firefox profiler view profile.pb.gz
        profiler view profile.pb.gz --print

        The flame graph needs no network. With a timeline it runs from left to right in the order of time, thread by thread. --in speedscope or firefox writes a file and opens the page on which to drop it.
        Both keep it in the browser; nothing is sent. The program that opens is $BROWSER, else xdg-open or open.
      TEXT

      PAGES = { "speedscope" => "https://www.speedscope.app/", "firefox" => "https://profiler.firefox.com/" }.freeze
      EXTENSIONS = { "svg" => ".svg", "speedscope" => ".speedscope.json", "firefox" => ".firefox.json.gz" }.freeze

      def initialize
        super
        @viewer = "svg"
      end

      # Opens the picture of a file in a browser.
      #
      # @param path [String]
      def show(path)
        open_in_browser(written(path))
      end

      private

      def define(parser)
        filter_options(parser)
        idle_option(parser)
        parser.on("--in VIEWER", "svg (default), speedscope or firefox") { |viewer| @viewer = viewer }
        parser.on("--style STYLE", "of the flame graph: icicle (default), flame, reverse or flamechart",
                  "(in the order of time; the default with a timeline)") { |style| @style = style }
        parser.on("--print", "print the file's name and open nothing") { @print = true }
        json_option(parser)
      end

      def call(arguments)
        path = one_file(arguments)
        raise UsageError, "--in #{@viewer} is not a viewer (allowed: #{EXTENSIONS.keys.join(", ")})" unless EXTENSIONS.key?(@viewer)

        @idle ||= @viewer != "svg" # others show one thread after the other
        file = written(path)
        puts file unless @json
        open_in_browser(PAGES.fetch(@viewer, file)) unless @print
        0
      end

      # @return [String] the file for the viewer. It is not removed at the end, as the browser reads it later.
      def written(path)
        profile = read_busy(path)
        # Only in the order of time does a timeline show what was done when.
        @style ||= "flamechart" if @viewer == "svg" && profile.timeline
        options = { type: @type, style: @style }.compact
        name = File.basename(path).sub(/(\.pb)?\.\w+\z/, "")
        file = File.join(Dir.mktmpdir("profiler-"), "#{name}#{EXTENSIONS.fetch(@viewer)}")
        write(file, nil, inputs: [path], **options) { profile }
        file
      end

      def open_in_browser(what)
        program = [ENV["BROWSER"], "xdg-open", "open"].compact.reject(&:empty?).find { |it| on_path?(it) }
        raise Failure, "no program to open it with: set BROWSER, or open #{what} yourself" unless program

        Process.detach(Process.spawn(program, what, in: File::NULL, out: File::NULL, err: File::NULL, pgroup: true))
      rescue SystemCallError => e
        raise Failure, "cannot run #{program}: #{CLI.reason(e)}"
      end

      def on_path?(program)
        return File.executable?(program) if program.include?("/")

        ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).any? { |it| File.executable?(File.join(it, program)) }
      end
    end
  end
end
