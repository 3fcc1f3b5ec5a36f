# frozen_string_literal: true

require "base64"
require "digest"
require "fileutils"
require "json"

# The programs of others that our files are opened with. `bin/setup --for-tests` puts those that no package of the system has
# into a directory of their own.
module Tools
  HOME = ENV["PROFILER_TOOLS"] || File.join(Dir.home, ".cache/profiler/tools")
  MODULES = File.join(HOME, "node_modules")
  # The OpenTelemetry Collector has its sources in its name, so that another one is built when they change.
  COLLECTOR_SOURCES = %w[main.go go.mod go.sum].map { |name| File.join(__dir__, "collector", name) }.freeze
  COLLECTOR = File.join(HOME, "bin", "collector-#{Digest::SHA256.hexdigest(COLLECTOR_SOURCES.map { |file| File.read(file) }.join)[0, 12]}")
  FLAGS = %w[--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
             --disable-sync --use-angle=swiftshader --enable-unsafe-swiftshader --allow-file-access-from-files
             --window-size=1200,4000].freeze # a table has the rows that are in the window

  # CI has the tools and says so; elsewhere a missing tool skips its example.
  #
  # @return [String] the first of +tools+ (names, or paths with a slash) that is there
  def need(*tools)
    found = tools.find { |tool| tool.include?("/") ? File.exist?(tool) : system("command -v #{tool} > /dev/null 2>&1") }
    return found if found
    raise "#{tools.first} is missing: bin/setup --for-tests installs it" if ENV["PROFILER_REQUIRE_TOOLS"]

    skip "#{tools.first} is not installed"
  end

  # The OpenTelemetry Collector; Debian 12 and 13 have a Go that is too old for it.
  #
  # @return [String] its path
  def need_collector
    least = File.read(COLLECTOR_SOURCES[1])[/^go (\S+)/, 1]
    go = IO.popen(%w[go env GOVERSION], err: File::NULL, &:read)[/\d[\d.]*/] rescue nil
    skip "Go is older than #{least}, so there is no Collector" if go && Gem::Version.new(go) < Gem::Version.new(least) && !File.exist?(COLLECTOR)

    need(COLLECTOR)
  end

  # The same of libraries.
  def need_library(*names)
    missing = names.reject { |name| system(RbConfig.ruby, "-W0", "-e", "require ARGV[0]", name, %i[out err] => File::NULL) }
    return if missing.empty?
    raise "#{missing.first} is missing: bin/setup --for-tests installs it" if ENV["PROFILER_REQUIRE_TOOLS"]

    skip "#{missing.first} is not installed"
  end

  # A page after its scripts have run.
  #
  # @return [String] HTML
  def page(url, directory)
    browser = need("chromium", "chromium-browser", "google-chrome")
    command = [browser, *FLAGS, "--user-data-dir=#{File.join(directory, "chromium")}", "--virtual-time-budget=8000", "--dump-dom", url]
    command_child(*command, timeout: 120, env: { "HOME" => directory }).out
  end

  # The view of a file in speedscope: the totals of its profiles by name, and the rows of the first one's table, by name, with
  # total and self; all as it writes them.
  #
  # @return [Array(Hash, Hash)]
  def speedscope(file)
    index = need(File.join(MODULES, "speedscope/dist/release/index.html"))
    directory = File.dirname(file)
    script = File.join(directory, "#{File.basename(file)}.js")
    File.write(script, <<~JS)
      window.alert = message => { document.title = "REFUSED: " + message }
      speedscope.loadFileFromBase64(#{File.basename(file).to_json}, "#{Base64.strict_encode64(File.binread(file))}")
    JS
    html = page("file://#{index}#localProfilePath=#{script}&view=sandwich", directory)
    raise "speedscope: #{html[/<title>[^<]*/]}" if html.include?("REFUSED") || !html.include?("Symbol Name")

    texts = html.gsub(%r{<style.*?</style>}m, "").scan(/>([^<]+)</).flatten.map { |match| unescape(match).strip }.reject(&:empty?)
    head, _, rows = texts.slice_before("Symbol Name").then { |parts| [parts.first, nil, parts.to_a.last.drop(1)] }
    [profiles_of(head), rows_of(rows)]
  end

  # The view of a file in the Firefox Profiler, by Mozilla's own command line, which loads files as the page does. It leaves a
  # server behind that has to be stopped.
  #
  # @yieldparam ask [#call] runs a command with its arguments, and returns what it printed
  def firefox(file)
    node = need(File.join(MODULES, "node/bin/node"))
    cli = need(File.join(MODULES, "@firefox-devtools/profiler-cli/dist/profiler-cli.js"))
    sessions = File.join(File.dirname(file), "sessions")
    FileUtils.mkdir_p(sessions)
    run = ->(*arguments) { command_child(node, cli, *arguments, env: { "PROFILER_CLI_SESSION_DIR" => sessions }, timeout: 120) }
    ask = ->(*arguments) { run[*arguments].tap { |entry| expect(entry.status).to be_success, entry.err }.out }
    loaded = run["load", file]
    # The tool waits half a second for its server to start, and it needs longer on a busy machine, where it keeps starting.
    wait_until(60) { (loaded = run["profile", "info"]).status.success? } if loaded.err.include?("did not become ready")
    expect(loaded.status).to be_success, loaded.err
    yield ask
  ensure
    run&.call("stop")
  end

  private

  def unescape(text)
    text.gsub("&lt;", "<").gsub("&gt;", ">").gsub("&quot;", '"').gsub("&nbsp;", " ").gsub("&amp;", "&")
  end

  # The list is there only if there are several.
  def profiles_of(texts)
    from = texts.index("Total Weight")
    return {} unless from

    texts.drop(from + 1).each_slice(3).take_while { |number, _, _| number.match?(/\A\d+\z/) }.to_h { |_, name, total| [name, total] }
  end

  def rows_of(texts)
    texts.each_slice(3).select { |text| text.size == 3 }.to_h { |total, own, name| [name, [total[/\A\S+/], own[/\A\S+/]]] }
  end
end
