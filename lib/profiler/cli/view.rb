# frozen_string_literal: true

require "rbconfig"
require_relative "../browser"
require_relative "command"
require_relative "comparison"
require_relative "directory_page"
require_relative "options"

module Profiler
  module CLI
    # +profiler view FILE+: opens the page in a browser, or writes a file for another viewer. +view BEFORE AFTER+ compares,
    # and +view DIRECTORY+ shows the periods of a continuous session.
    class View < Command
      include Options

      SUMMARY = "Opens a recorded profile in a browser, or in another viewer."
      USAGE = "view [options] [FILE | DIRECTORY | BEFORE AFTER]"
      EXAMPLES = <<~TEXT
        profiler view profile.pb.gz
        profiler view profile.pb.gz --style reverse --app-only
        profiler view profile.pb.gz --source
        profiler view profile.pb.gz --in firefox
        BROWSER=firefox profiler view profile.pb.gz
        profiler view profile.pb.gz --print
        profiler view before.pb.gz after.pb.gz
        profiler view profiles/ --print

        The page is one file and needs no network: you can keep it, send it, or attach it to a CI run. --style draws a static
        picture instead. --in speedscope or firefox writes a file and opens the site on which to drop it. Both sites read the
        file in the browser and send it nowhere.

        Without FILE, the newest profile in this directory is used. With BEFORE and AFTER, the page shows what changed, as
        profiler diff does; each can be several files, separated by commas. With the DIRECTORY of a continuous session, it shows
        how busy each process was, and opens each period.

        The page is opened by $BROWSER, or else by xdg-open or open. Over ssh, only its path is printed.
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
        parser.on("--in VIEWER", "page (default), svg, speedscope or firefox") { |viewer| @viewer = viewer }
        parser.on("--style STYLE", "#{STYLES}; flamechart is the default with --in svg and a timeline") { |style| @style = style }
        source_option(parser)
        parser.on("--print", "print the name of the file instead of opening it") { @print = true }
        filter_options(parser)
        idle_option(parser)
        json_option(parser)
      end

      def call(arguments)
        @viewer ||= @style ? "svg" : "page"
        raise UsageError, "--in #{@viewer} is not a viewer (allowed: #{EXTENSIONS.keys.join(", ")})" unless EXTENSIONS.key?(@viewer)

        @idle ||= @viewer != "svg" # the page leaves them out by itself, and others show one thread after the other
        file = page_of(arguments)
        puts file unless @json
        open_in_browser(PAGES.fetch(@viewer, file)) unless @print || Browser.far?
        0
      end

      # @return [String] the file for the viewer. It is not removed at the end, as the browser reads it later.
      def written(path)
        profile = read_busy(path)
        # A timeline is drawn in the order of time by default, which shows what was done when.
        @style ||= "flamechart" if @viewer == "svg" && profile.timeline
        options = { type: @type, style: @style, source: @source }.compact
        name = CLI.text(File.basename(path)).sub(/(\.pb)?\.\w+\z/, "")
        file = File.join(Dir.mktmpdir("profiler-"), "#{name}#{EXTENSIONS.fetch(@viewer)}")
        write(file, nil, inputs: [path], **options) { profile }
        file
      end

      def page_of(arguments)
        return compared(*arguments) if arguments.size == 2

        path = one_file(arguments)
        File.directory?(path) ? overview(path) : written(path)
      end

      # @return [String] the page of a directory
      def overview(directory)
        raise UsageError, "--in #{@viewer} cannot show a directory: only the page can" unless @viewer == "page"

        load_profiler
        files = DirectoryPage.files(directory)
        raise Failure, "#{directory} has no profiles of a continuous session" if files.empty?

        name = CLI.text(File.basename(FileName.absolute(CLI.path(directory))))
        page = DirectoryPage.new(name, type: @type)
        progress = Progress.new
        page.read(files) { |path| progress.step("reading", files.size, path) { readable(path) } }
        progress.clear
        file = File.join(Dir.mktmpdir("profiler-"), "#{name}.html")
        page.write(file)
        print_json(page.facts(file)) if @json
        file
      rescue SystemCallError => e
        raise Failure, "cannot show #{directory}: #{CLI.reason(e)}"
      end

      # @return [Profile, nil] nil with a line on stderr if the file is damaged, or gone by now
      def readable(path)
        read_filtered(path)
      rescue Failure => e
        CLI.complain "skipped: #{e.message}"
      end

      # @return [String] the page of both sides
      def compared(before, after)
        raise UsageError, "--in #{@viewer} cannot compare two profiles: only the page can, and profiler diff --out diff.svg draws a picture" unless @viewer == "page"

        file = File.join(Dir.mktmpdir("profiler-"), "diff.html")
        page = Comparison.new(before, after, runs(before), runs(after))
        with_file_in_errors("#{CLI.text(before)} and #{CLI.text(after)}") { page.write(file, type: @type) }
        print_json(page.facts(file)) if @json
        file
      rescue SystemCallError => e
        raise Failure, "cannot write the page: #{CLI.reason(e)}"
      end

      def open_in_browser(target)
        Browser.open(target) || raise(Failure, "no browser was found: set BROWSER, or open #{target} yourself")
      rescue SystemCallError => e
        raise Failure, "cannot run a browser: #{CLI.reason(e)}"
      end
    end
  end
end
