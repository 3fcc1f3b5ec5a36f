# frozen_string_literal: true

# Makes docs/images/*.png of a profile of a shop on Puma: shoot.rb PROFILE. Each shows it in another viewer.
#
# speedscope comes from `bin/setup --for-tests`. The Firefox Profiler is not a package: FIREFOX_PROFILER is the directory of its
# front end as `yarn build` of its sources makes it; without that its picture is left as it was.

require "base64"
require "fileutils"
require "json"
require "tmpdir"

require "profiler"
require_relative "browser"
require_relative "requests"

TOOLS = ENV["PROFILER_TOOLS"] || File.join(Dir.home, ".cache/profiler/tools")
SPEEDSCOPE = File.join(TOOLS, "node_modules/speedscope/dist/release/index.html")
IMAGES = File.expand_path("../images", __dir__)
MAX_BYTES = 300_000
SIZE = { width: 1200, height: 640 }.freeze

profile = Profiler::Profile.load(ARGV.fetch(0))
FileUtils.mkdir_p(IMAGES)

def picture(name)
  png = File.join(IMAGES, "#{name}.png")
  yield png
  abort "screenshots: #{png} has #{File.size(png)} bytes (allowed: #{MAX_BYTES})" if File.size(png) > MAX_BYTES
  puts "#{png}: #{File.size(png) / 1000} kB"
end

Dir.mktmpdir("screenshots") do |directory|
  browser = Browser.new(directory)

  page = profile.save(File.join(directory, "shop.html"), title: "A shop on Puma")
  {
    "page" => "", "page-finding" => "type=gvl_blame&search=%5EIndexer%23rebuild%24", "page-sandwich" => "view=sandwich&viewOf=Database%23query",
    "page-time" => "view=chart&from=700000000&to=1100000000", "page-gvl" => "view=gvl", "page-gc" => "view=gc"
  }.each { |name, fragment| picture(name) { |png| browser.shoot("file://#{page}##{fragment}", png, width: 1280, height: 800) } }

  picture("list") { |png| browser.shoot("file://#{Requests.list(directory)}", png, width: 1280, height: 500) }
  programs = "viewer/test/programs"
  root = File.expand_path("../..", __dir__)
  load_path = $LOAD_PATH.map { |it| "-I#{File.expand_path(it)}" }
  versions = %w[0.2 0.8 3].flat_map do |seconds|
    files = %w[before after].map { |it| File.join(directory, seconds, "#{it}.pb.gz") }
    FileUtils.mkdir_p(File.join(directory, seconds))
    system({ "SECONDS" => seconds }, RbConfig.ruby, *load_path, "#{programs}/versions.rb", *files, chdir: root, exception: true) # its name is in the picture
    files.each { |file| Profiler::Profile.load(file).trim_path(root).save(file) }
  end
  picture("page-difference") do |png|
    system(RbConfig.ruby, "-I#{__dir__}/../../lib", "#{__dir__}/../../exe/profiler", "diff", *versions.last(2), "-o", "#{directory}/diff.html", out: File::NULL, exception: true)
    browser.shoot("file://#{directory}/diff.html#search=%5ECatalog%23find_in_list%24", png, width: 1280, height: 800)
  end

  picture("page-days") do |png|
    files = File.join(directory, "profiles")
    system(RbConfig.ruby, "#{programs}/day.rb", files, "1440", "60", *versions, chdir: root, exception: true)
    require "profiler/cli/directory_page"
    page = Profiler::CLI::DirectoryPage.new("profiles")
    page.read(Profiler::CLI::DirectoryPage.files(files)) { |path| Profiler::Profile.load(path) }
    page.write("#{directory}/days.html")
    browser.shoot("file://#{directory}/days.html", png, width: 1280, height: 600)
  end
  { "memory" => ["leak.rb", "A cart that is never emptied", "view=memory"],
    "queries" => ["queries.rb", "An order that queries each price", "view=labels&view.label=%0Amarkers&view.markers=number"] }.each do |name, (program, title, fragment)|
    file = File.join(directory, "#{name}.pb.gz")
    system(RbConfig.ruby, *load_path, "#{programs}/#{program}", file, chdir: root, exception: true)
    page = Profiler::Profile.load(file).trim_path(root).save(File.join(directory, "#{name}.html"), title: title)
    picture("page-#{name}") { |png| browser.shoot("file://#{page}##{fragment}", png, width: 1280, height: 800) }
  end

  picture("svg") do |png|
    # The work of the server's threads, without those that wait for work.
    part = profile.filter(focus: /Shop#call/)
    svg = part.save(File.join(directory, "shop.svg"), title: "wall clock time of a shop on Puma")
    browser.shoot("file://#{svg}", png, width: SIZE[:width], height: Integer(File.read(svg)[/ height="(\d+)"/, 1]))
  end

  picture("speedscope") do |png|
    abort "screenshots: speedscope is missing: bin/setup --for-tests installs it" unless File.exist?(SPEEDSCOPE)
    script = File.join(directory, "shop.js")
    packed = Base64.strict_encode64(profile.dump(:speedscope, type: :wall))
    File.write(script, "speedscope.loadFileFromBase64('shop.speedscope.json', '#{packed}')")
    browser.shoot("file://#{SPEEDSCOPE}#localProfilePath=#{script}&view=time-ordered", png, **SIZE)
  end

  if (built = ENV["FIREFOX_PROFILER"])
    picture("firefox") do |png|
      site = Site.new(built, { "/shop.json" => profile.dump(:firefox) })
      url = "#{site.address}/from-url/#{"#{site.address}/shop.json".gsub(%r{[:/]}) { |it| format("%%%02X", it.ord) }}/marker-chart/"
      browser.shoot(url, png, milliseconds: 20_000, **SIZE)
    end
  else
    warn "screenshots: FIREFOX_PROFILER is not set, docs/images/firefox.png stays as it is"
  end
end
