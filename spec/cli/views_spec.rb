# frozen_string_literal: true

require "profiler/cli"
require "zlib"

# Views of a profile: a part of it, the tree, the details of a method, source lines, the flame graph.
RSpec.describe "Commands that show a profile" do
  include_context "with a box"

  let(:shop) { File.expand_path("../fixtures/shop.pb.gz", __dir__) }

  def run(*arguments, **options)
    result = profiler_child(*arguments, chdir: box, **options)
    expect([result.code, result.err]).to eq [0, ""]
    result.out
  end

  def refusal(*arguments)
    result = profiler_child(*arguments, chdir: box)
    [result.code, result.err]
  end

  it "show the selected part, and name it" do
    out = run("report", shop, "--focus", "save!")
    expect(out).to match(/^note .*only a part, focus .*save!.*: 9\.6% of cpu$/m).and match(/^81\.0 ms +100\.0% +81\.0 ms +100\.0% +Shop::Order#save!/)
    expect(run("report", shop, "--ignore", "Array#each")).not_to include("Shop::Order#save ")
    hidden = run("report", shop, "--hide", "<=>|Array")
    expect(hidden).to match(/701 ms +82\.8% +701 ms +82\.8% +Shop::Order#save /).and match(/cpu: 847 ms in all/)
    expect(run("report", shop, "--thread", "worker")).to match(/cpu: 64\.0 ms in all/)
    expect(run("report", shop, "--app-only")).not_to include("Array#each")
    expect(run("report", shop, "--focus", "lib/shop\\.rb")).to include("Shop::Order#save")
    expect(run("report", shop, "--type", "samples")).to match(/^samples: 211 in all/)
  end

  it "put the text of sources into a page only when asked to, and none that looks secret" do
    work = "def work = Array.new(9) { Object.new }\nwork\n"
    files = { "app.rb" => "#{work}# </script> <!--\n", "secrets.rb" => work, "keys.rb" => work, ".env.rb" => work, "login.rb" => "#{work}PASSWORD = 'correct-horse'\n" }
    files.each { |name, text| File.write("#{box}/#{name}", text) }
    program = "Profiler.run(mode: :allocations, every: 1) { ARGV.each { |it| load it } }.save('work.pb.gz')"
    expect(system(RbConfig.ruby, "-I#{File.expand_path("../../lib", __dir__)}", "-rprofiler", "-e", program, *files.keys.map { |name| "#{box}/#{name}" }, chdir: box)).to be true
    expect(profiler_child("convert", "work.pb.gz", "with.html", "--source", chdir: box).err).to match(/ source of 1 file:\n  \S+\/app\.rb\n\z/)
    run("convert", "work.pb.gz", "without.html")
    with, without = %w[with without].map { |name| File.read("#{box}/#{name}.html") }
    sources = JSON.parse(with[%r{id="sources">(.*?)</script>}m, 1])
    own = sources.select { |path, _| path.start_with?("#{File.realpath(box)}/") }
    expect(own.transform_keys { |path| File.basename(path) }).to eq("app.rb" => { "text" => files["app.rb"], "changed" => false })
    expect(without).not_to include('id="sources"')
    expect(with.scan("</script>").size).to eq(without.scan("</script>").size + 1)
    expect(run("report", "with.html", "--json")).to eq run("report", "without.html", "--json").gsub("without.html", "with.html")
    File.utime(Time.now + 60, Time.now + 60, "#{box}/app.rb")
    profiler_child("convert", "work.pb.gz", "later.html", "--source", chdir: box)
    later = JSON.parse(File.read("#{box}/later.html")[%r{id="sources">(.*?)</script>}m, 1])
    expect(later.select { |_, entry| entry["changed"] }.keys.map { |path| File.basename(path) }).to eq(["app.rb"])
    expect(run("annotate", "work.pb.gz", "app.rb")).to include("app.rb (changed since the recording: lines may not match)")
  end

  # A profile may come from anywhere, and name any file.
  it "put only Ruby code from here, from gems and from Ruby into a page, and list it" do
    Dir.mkdir("#{box}/outside")
    Dir.mkdir("#{box}/here")
    Dir.mkdir("#{box}/here/.kube")
    write = ->(name, text) { File.write("#{box}/#{name}", text) }
    write["outside/theirs.rb", "1"]
    write["outside/shadow", "root:x"]
    write["here/database.yml", "password: hunter2"]
    write["here/config", "token"]
    write["here/script", "#!/usr/bin/env ruby\n1"]
    write["here/mine.rb", "1"]
    write["here/.kube/config.rb", "1"]
    File.symlink("../outside/shadow", "#{box}/here/app.rb")
    File.symlink("../outside/theirs.rb", "#{box}/here/link.rb")
    File.symlink("mine.rb", "#{box}/here/alias.rb")
    File.symlink("database.yml", "#{box}/here/model.rb")
    File.mkfifo("#{box}/here/pipe.rb")
    gem_file, own = Gem.loaded_specs.fetch("rspec-core").full_gem_path + "/lib/rspec/core.rb", "#{RbConfig::CONFIG.fetch("rubylibdir")}/json.rb"
    here = %w[database.yml config script mine.rb app.rb link.rb alias.rb model.rb pipe.rb missing.rb .kube/config.rb ../outside/theirs.rb].map { |name| "#{box}/here/#{name}" }
    paths = [*here, "mine.rb", "../outside/theirs.rb", "/etc/passwd", gem_file, own]
    frames = paths.map { |path| { name: "f", file: path, line: 1 } }
    profile = { type: "sampled", name: "x", unit: "milliseconds", startValue: 0, endValue: 10, samples: paths.each_index.map { |index| [index] }, weights: paths.map { 1 } }
    write["foreign.speedscope.json", JSON.generate("$schema" => "https://www.speedscope.app/file-format-schema.json", shared: { frames: frames }, profiles: [profile])]
    result = profiler_child("convert", "../foreign.speedscope.json", "../page.html", "--source", chdir: "#{box}/here")
    sources = JSON.parse(File.read("#{box}/page.html")[%r{id="sources">(.*?)</script>}m, 1])
    expected = [*%w[script mine.rb alias.rb].map { |name| "#{box}/here/#{name}" }, "mine.rb", gem_file, own]
    expect(sources.keys).to match_array(expected)
    expect(result.err.lines.map(&:chomp)).to eq(["profiler: the page contains the source of 6 files:", *expected.sort.map { |entry| "  #{entry}" }])
  end

  it "name a function, thread or type that is not there" do
    expect(refusal("report", shop, "--focus", "nobody")).to eq [1, "profiler: #{shop}: no function matches /nobody/\n"]
    expect(refusal("report", shop, "--focus", "(")).to match [2, /\Aprofiler: --focus "\(" is not a regular expression: .*\n\z/]
    expect(refusal("tree", shop, "--type", "wall")).to eq [1, "profiler: #{shop}: the profile has no \"wall\" (it has samples, cpu)\n"]
    expect(refusal("report", shop, "--thread", "x")).to match [1, /no thread matches .* \(there are "main" \(4711\), /]
    expect(refusal("report", shop, "--md", "--method", "x")).to match [2, /--method and --md cannot be combined/]
    expect(refusal("tree", shop, "--min", "many")).to eq [2, "profiler: --min \"many\" is not a share like 5%\n"]
    expect(refusal("view", shop, "--in", "paint")).to match [2, /--in paint is not a viewer \(allowed: page, svg, speedscope, firefox\)/]
  end

  it "show a method with its callers, callees and source" do
    FileUtils.mkdir_p("#{box}/app/lib")
    File.write("#{box}/app/lib/shop.rb", (1..90).map { |number| "line_#{number}\n" }.join)
    out = run("report", shop, "--method", "Order#save$")
    expect(out).to match(/^Shop::Order#save  .*shop\.rb:40$/)
      .and match(/^  total +701 ms +82\.8% +self +300 ms +35\.4%$/)
      .and match(/callers\n +701 ms +82\.8%  Array#each/).and match(/callees\n +401 ms +47\.4%  Shop::Order#<=>/)
    methods = JSON.parse(run("report", shop, "--method", "Order#save$", "--json"))["methods"]
    expect(methods.size).to eq 1
    expect(methods[0]).to include("self" => 300_000_000, "total" => 701_234_000)
    expect(methods[0]["lines"].sum { |method| method["self"] }).to eq 300_000_000
    annotated = run("annotate", shop, "lib/shop.rb", "--source", "#{box}/")
    expect(annotated).to match(/47\.4% +401 ms +47\.4% +21 line_21$/).or match(/47\.4% +401 ms +47\.4% +21$/)
    lines = JSON.parse(run("annotate", shop, "Shop::Order#save", "--json"))["files"].values.first
    expect(lines.values.sum { |line| line["self"] }).to eq 300_000_000
  end

  it "prefer a file to a method, and report an argument that is neither" do
    File.write("#{box}/rb.speedscope.json", JSON.generate(
      "$schema" => "https://www.speedscope.app/file-format-schema.json",
      "shared" => { "frames" => [{ "name" => "Foo.bar", "file" => "/app/Foo.rb", "line" => 3 }] },
      "profiles" => [{ "type" => "sampled", "name" => "x", "unit" => "milliseconds", "startValue" => 0, "endValue" => 5, "samples" => [[0]], "weights" => [5] }]
    ))
    %w[Foo.rb app/Foo.rb Foo.bar].each do |what|
      expect(JSON.parse(run("annotate", "rb.speedscope.json", what, "--json"))["files"].keys).to eq ["/app/Foo.rb"]
    end
    expect(refusal("annotate", "rb.speedscope.json", "Bar.rb"))
      .to eq [1, "profiler: rb.speedscope.json: no file or method matches \"Bar.rb\", or it has no weight (the heaviest files are /app/Foo.rb)\n"]
  end

  it "show a gap wherever lines are left out" do
    FileUtils.mkdir_p("#{box}/app/lib")
    File.write("#{box}/app/lib/shop.rb", (1..90).map { |number| "line_#{number}\n" }.join)
    shown = run("annotate", shop, "lib/shop.rb", "--source", box).lines.drop(4).map { |entry| entry[/\d+(?= line_)|\.\.\./] }
    gap = ["..."]
    expect(shown).to eq [*("19".."23"), *gap, *("39".."46"), *gap, *("59".."63"), *gap, *("80".."84")]
  end

  it "take no compiled file for a source" do
    frames = [{ "name" => "parse", "file" => "/app/parser.so", "line" => 3 }, { "name" => "run", "file" => "/app/run.rb", "line" => 1 }]
    File.write("#{box}/compiled.speedscope.json", JSON.generate(
      "$schema" => "https://www.speedscope.app/file-format-schema.json", "shared" => { "frames" => frames },
      "profiles" => [{ "type" => "sampled", "name" => "x", "unit" => "milliseconds", "startValue" => 0, "endValue" => 6, "samples" => [[1], [1, 0]], "weights" => [1, 5] }]
    ))
    expect(JSON.parse(run("annotate", "compiled.speedscope.json", "--json"))["files"].keys).to eq ["/app/run.rb"]
    expect(run("annotate", "compiled.speedscope.json")).to include("/app/run.rb (none of its lines is known)")
  end

  it "weigh by --type" do
    { "report" => /^samples: 211 in all/, "tree" => /^samples: 211 in all/, "annotate" => /^samples: 211 in all/ }.each do |command, expected|
      expect(run(command, shop, "--type", "samples")).to match expected
    end
    expect(run("convert", shop, "-", "--format", "folded", "--type", "samples").lines.sum { |entry| Integer(entry[/\d+$/]) }).to eq 211
    expect(run("diff", shop, shop, "--type", "samples", "--all")).to match(/^samples: 211 before, 211 after/)
    expect(run("check", shop, "--type", "samples", "--max", "<main>: 211")).to match(/^ok +\d+ of 211  <main>$/)
    expect(JSON.parse(run("report", shop, "--type", "samples", "--method", "<=>", "--json"))).to include("type" => "samples", "total" => 211)
    %w[report tree annotate].each { |command| expect(refusal(command, shop, "--type", "nothing").last).to match(/"nothing"/) }
  end

  it "show the tree with the hot path open" do
    out = run("tree", shop)
    expect(out.lines.grep(/<main>|Array#each|Order#save |<=>/).first(4).map { |line| line[/[<A-Z]\S+(?=  |$)/] }.first).to eq "<main>"
    expect(out).to match(/^ +401 ms +47\.4% +401 ms +Shop::Order#<=>/)
    tree = JSON.parse(run("tree", shop, "--json"))
    expect(tree.values_at("type", "total")).to eq ["cpu", 847_000_000]
    sum = ->(nodes) { nodes.sum { |node| node["self"] + sum[node["children"]] } }
    expect(sum[tree["tree"]]).to eq 847_000_000
    expect(run("tree", shop, "--color=always")).to include("\e[1;31m")
  end

  it "open the flame graph, or write it for another viewer" do
    opened = "#{box}/opened"
    File.write("#{box}/browser", "#!/bin/sh\necho \"$1\" > '#{opened}'\n", perm: 0o755)
    path = run("view", shop, "--style", "reverse", env: { "BROWSER" => "#{box}/browser" }).chomp
    wait_until { File.exist?(opened) && File.size(opened).positive? }
    expect(File.read(opened).chomp).to eq path
    expect(File.read(path)).to include("<svg")
    expect(File.stat(path).mode & 0o777).to eq 0o600
    firefox = run("view", shop, "--in", "firefox", "--print").chomp
    expect(firefox).to end_with("shop.firefox.json.gz")
    expect(JSON.parse(Zlib.gunzip(File.binread(firefox)))["meta"]["preprocessedProfileVersion"]).to eq 48
  ensure
    [path, firefox].compact.each { |item| FileUtils.rm_rf(File.dirname(item)) }
  end

  it "show two files in one page, with the facts of both" do
    FileUtils.cp(shop, "#{box}/old.pb.gz")
    path = run("view", "old.pb.gz", shop, "--print").chomp
    page = File.read(path)
    expect([File.basename(path), File.stat(path).mode & 0o777]).to eq ["diff.html", 0o600]
    comparison = JSON.parse(page[/id="facts">(.*?)<\/script>/m, 1])["comparison"]
    expect(comparison["runs"].map { |entry| entry.values_at("side", "name") }).to eq [["after", "shop.pb.gz"], ["before", "old.pb.gz"]]
    expect(page.scan(/<script type="text\/plain" id="(profile[^"]*)"/).flatten).to eq %w[profile profile-1]
    # Commands that read a page read the later side.
    expect(run("report", path)).to match(/cpu: 847 ms in all/)
    json = JSON.parse(run("view", "old.pb.gz,old.pb.gz", shop, "--print", "--json"))
    expect(json).to include("format" => "html", "bytes" => be > page.size, "before_files" => %w[old.pb.gz old.pb.gz], "after_files" => [shop])
    expect(refusal("view", shop, shop, "--in", "svg")).to match [2, /--in svg cannot compare two profiles: only the page can, and profiler diff --out diff\.svg draws/]
    expect(refusal("view", shop, shop, shop)).to match [2, /expected one FILE, got 3/]
    expect(refusal("view", shop, shop, "--type", "wall")).to match [1, /the profile has no "wall"/]
    expect(refusal("view", "nowhere.pb.gz", shop)).to match [1, /cannot read nowhere\.pb\.gz/]
  ensure
    [path, json&.fetch("file")].compact.each { |item| FileUtils.rm_rf(File.dirname(item)) }
  end

  it "show the periods of a continuous session, damaged files left out" do
    ruby_child("-e", <<~RUBY, "#{box}/kept")
      require "profiler"
      session = Profiler.continuous(out: ARGV[0], period: 60, mode: :cpu)
      3.times { 300_000.times { |it| it.to_s }; session.flush }
      session.stop
    RUBY
    files = Dir["#{box}/kept/*.pb.gz"]
    File.write("#{box}/kept/20261122T003012.123-4711-9f86d081.pb.gz", "damaged")
    File.write("#{box}/kept/other.pb.gz", "none of ours")
    result = profiler_child("view", "kept", "--print", "--json", chdir: box)
    expect([result.code, result.err]).to match [0, /\Aprofiler: skipped: .*9f86d081\.pb\.gz: .*\n\z/]
    json = JSON.parse(result.out)
    expect(json).to include("format" => "html", "processes" => 1, "periods" => files.size, "parts" => files.size)
    page = File.read(json["file"])
    index = JSON.parse(page[/id="facts">(.*?)<\/script>/m, 1])
    process = index["periods"]["processes"].first
    totals = files.sort.map { |file| JSON.parse(run("report", file, "--type", "cpu", "--json", "--limit", "0"))["top"].sum { |row| row["self"] } }
    expect(process["cells"].map { |entry| entry[2] }).to eq totals
    expect(page.scan(/id="(period-\d+)"/).flatten).to eq files.each_index.map { |index| "period-#{index}" }
    expect(File.stat(json["file"]).mode & 0o777).to eq 0o600
    FileUtils.mkdir_p("#{box}/empty")
    expect(refusal("view", "empty")).to eq [1, "profiler: empty has no profiles of a continuous session\n"]
    expect(refusal("view", "kept", "--in", "svg").last).to match(/--in svg cannot show a directory: only the page can/)
  ensure
    FileUtils.rm_rf(File.dirname(json["file"])) if json
  end

  it "merge periods if a day has more than the page may have" do
    parts = [10_000_000, 10].map do |most|
      result = ruby_child("-e", <<~RUBY, "#{box}/kept#{most}", most.to_s, "#{box}/#{most}.html")
        require "profiler"
        require "profiler/cli"
        require "profiler/cli/directory_page"
        session = Profiler.continuous(out: ARGV[0], period: 60, mode: :cpu)
        3.times { 300_000.times { |it| it.to_s }; session.flush }
        session.stop
        kind = Profiler::CLI::DirectoryPage
        kind.send(:remove_const, :MAX_CHARACTERS)
        kind::MAX_CHARACTERS = Integer(ARGV[1])
        page = kind.new("day")
        page.read(kind.files(ARGV[0])) { |path| Profiler::Profile.load(path) }
        page.write(ARGV[2])
        files = kind.files(ARGV[0])
        puts files.sum { |it| Profiler::Profile.load(it.path).totals["samples"] }, files.size
      RUBY
      expect(result.err).to eq ""
      text = File.read("#{box}/#{most}.html")
      files = text.scan(/id="period-\d+">([^<]*)/).flatten
      totals = files.each_with_index.map do |file, place|
        File.binwrite("#{box}/part#{place}.pb.gz", file.unpack1("m"))
        JSON.parse(run("report", "part#{place}.pb.gz", "--type", "samples", "--json", "--limit", "0"))["top"].sum { |result| result["self"] }
      end
      samples, number = result.out.split.map { |line| Integer(line) }
      expect(totals.sum).to eq samples
      JSON.parse(text[/id="facts">(.*?)<\/script>/m, 1])["periods"]["parts"].map { |result| result["files"] }.tap { |entry| expect(entry.sum).to eq number }
    end
    expect(parts.first.uniq).to eq [1]
    expect(parts.last.size).to be <= 2 # midnight can be between them
    expect(parts.last.sum).to be > parts.last.size
  end

  it "show a timeline in the order of time" do
    ruby_child("-e", <<~RUBY, "#{box}/it.pb.gz")
      require "profiler"
      def burn(seconds)
        till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
        nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
      end
      def one = burn(0.06)
      def other = burn(0.06)
      Profiler.run(timeline: true, out: ARGV[0]) { one; other; one }
    RUBY
    order = lambda do |*options|
      path = run("view", "it.pb.gz", "--print", *options).chomp
      frames = File.read(path).scan(/<title>Object#(one|other) .*?<rect x="([\d.]+)%"/m).map { |name, x| [Float(x), name] }
      frames.sort.map(&:last).slice_when { |before, after| before != after }.map(&:first)
    ensure
      FileUtils.rm_rf(File.dirname(path))
    end
    expect(order["--in", "svg"]).to eq %w[one other one]
    expect(order["--style", "icicle"].size).to eq 2
  end

  it "print Markdown" do
    expect(run("report", shop, "--md", "--limit", "1")).to match(/^\| 401 ms \| 47\.4% \| 401 ms \| 47\.4% \| `Shop::Order#<=>` \|/)
  end

  it "complete commands and options" do
    %w[bash zsh fish].each { |shell| expect(run("completion", shell)).to include("--app-only".delete_prefix("--")) }
    script = <<~SH
      #{run("completion", "bash")}
      COMP_WORDS=(profiler rep); COMP_CWORD=1; _profiler; echo "${COMPREPLY[@]}"
      COMP_WORDS=(profiler report --sort); COMP_CWORD=2; _profiler; echo "${COMPREPLY[@]}"
    SH
    result = command_child("bash", "-c", script)
    expect([result.out, result.err]).to eq ["report\n--sort-total\n", ""]
  end

  # Each example of a help text is taken at its word, as far as it names our files and no other program.
  it "have examples that work" do
    names = %w[profile cpu before after main old1 old2 old3 new1 new2 new3 cpu.4711 cpu.4712 worker-1 day hour]
    names.each { |name| FileUtils.cp(shop, "#{box}/#{name}.pb.gz") }
    run("convert", "profile.pb.gz", "stackprof.json", "--format", "stackprof")
    FileUtils.mkdir_p("#{box}/profiles")
    FileUtils.cp(shop, "#{box}/profiles/20261122T003012.123-4711-9f86d081.pb.gz")
    skipped = /^(RUBYOPT|BROWSER|source|bundle)|\| (ssh|less|jq)|record|stat|profiler (ruby|boot|ps|attach|detach|top|dump|trace|memory|start|snapshot|stop)|doctor|completion fish/
    shown = Profiler::CLI::COMMANDS.each_key.flat_map do |command|
      text = run("help", command)
      text[/^Examples:\n(.*?)(?:\n\n|\z)/m, 1].lines.map(&:strip).grep(/\A(\w+=\w+ )?profiler /).grep_v(skipped)
    end
    expect(shown.size).to be > 25
    shown.each do |example|
      command = example.sub(/ +# .*/, "").sub("profiler ", "'#{RbConfig.ruby}' '#{Child::EXE}' ")
      result = command_child("sh", "-c", command, chdir: box, env: { "BROWSER" => "true", "GITHUB_STEP_SUMMARY" => "#{box}/summary.md" })
      # A check may fail, and the shop calls no JSON.parse.
      fine = example.match?(/ check |JSON\.parse/) ? [0, 1] : [0]
      expect(fine).to include(result.code), "#{example}: #{result.err}"
    end
  end
end
