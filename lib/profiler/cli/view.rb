# frozen_string_literal: true

require "rbconfig"
require_relative "../browser"
require_relative "options"
require_relative "command"

module Profiler
  module CLI
    # +profiler view FILE+: opens the page in a browser, or writes a file for another viewer.
    class View < Command
      include Options

      SUMMARY = "Opens a recorded profile in a browser, or in another viewer."
      USAGE = "view [FILE] [options]"
      EXAMPLES = <<~TEXT
        profiler view profile.pb.gz
        profiler view profile.pb.gz --style reverse --app-only
        profiler view profile.pb.gz --in firefox
        BROWSER=firefox profiler view profile.pb.gz
        profiler view profile.pb.gz --print

        The page is one file and needs no network: it can be kept, sent, or attached to a CI run. --style draws a picture instead,
        which does not change. --in speedscope or firefox writes a file and opens the page on which to drop it. Both keep it in
        the browser; nothing is sent. The program that opens is $BROWSER, else xdg-open or open. Over ssh, the file is only named.
      TEXT

      PAGES = { "speedscope" => "https://www.speedscope.app/", "firefox" => "https://profiler.firefox.com/" }.freeze
      EXTENSIONS = { "page" => ".html", "svg" => ".svg", "speedscope" => ".speedscope.json", "firefox" => ".firefox.json.gz" }.freeze

      # Opens the page of a file in a browser.
      #
      # @param path [String]
      def show(path)
        @viewer = "page"
        @idle = true
        page = written(path)
        Browser.far? ? CLI.complain("the page is #{page}") : open_in_browser(page)
      end

      private

      def define(parser)
        filter_options(parser)
        idle_option(parser)
        parser.on("--in VIEWER", "page (default), svg, speedscope or firefox") { |viewer| @viewer = viewer }
        parser.on("--style STYLE", "of a picture (svg): icicle (default), flame, reverse or flamechart",
                  "(in the order of time; the default with --in svg and a timeline)") { |style| @style = style }
        parser.on("--print", "print the file's name and open nothing") { @print = true }
        json_option(parser)
      end

      def call(arguments)
        path = one_file(arguments)
        @viewer ||= @style ? "svg" : "page"
        raise UsageError, "--in #{@viewer} is not a viewer (allowed: #{EXTENSIONS.keys.join(", ")})" unless EXTENSIONS.key?(@viewer)

        @idle ||= @viewer != "svg" # the page leaves them out by itself, and others show one thread after the other
        file = written(path)
        puts file unless @json
        open_in_browser(PAGES.fetch(@viewer, file)) unless @print || Browser.far?
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

      def open_in_browser(target)
        Browser.open(target) || raise(Failure, "no program to open it with: set BROWSER, or open #{target} yourself")
      rescue SystemCallError => e
        raise Failure, "cannot run a browser: #{CLI.reason(e)}"
      end
    end
  end
end
