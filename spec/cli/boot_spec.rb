# frozen_string_literal: true

RSpec.describe "profiler boot" do
  include_context "with a box"

  let(:burn) { "till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + %s; 9.to_s while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till" }

  # A program that requires two files, and what each takes.
  def program(name, **files)
    FileUtils.mkdir_p(in_box(name))
    files.each { |file, seconds| File.write(in_box("#{name}/#{file}.rb"), format(burn, seconds)) }
    File.write(in_box("#{name}/main.rb"), files.keys.map { |file| "require_relative #{file.to_s.inspect}\n" }.join)
    in_box("#{name}/main.rb")
  end

  def boot(*options, program) = profiler_child("boot", "--mode", "cpu", *options, "--", RbConfig.ruby, program, chdir: box)

  def ms(weight) = weight / 1_000_000

  it "prints what was loaded as JSON" do
    json = JSON.parse(boot("--json", program("app", shop: 0.08, cart: 0.03)).err)
    expect(json).to include("findings", "loads" => include("type" => "cpu", "all" => Integer, "total" => Integer, "self" => 0, "waited" => 0))
    main = json["loads"]["files"].find { |entry| entry["path"].end_with?("shop.rb") }
    expect(main).to match("path" => in_box("app/shop.rb"), "by" => "#{in_box("app/main.rb")}:1", "total" => be > 40_000_000, "self" => be > 40_000_000,
                          "waited" => 0, "files" => [])
    expect(json["loads"]["packages"]).to all include("name", "total", "self", "waited")
    expect(Dir.children(box).grep(/pb\.gz/)).to eq []
  end

  it "compares with a baseline, by package and by file, the greatest change first" do
    boot("--out", "before.pb.gz", program("app", shop: 0.02, cart: 0.06))
    changed = program("app", shop: 0.15, cart: 0.01)
    result = boot("--baseline", "before.pb.gz", changed)
    expect(result.err).to match(/^loading code: \S+ ms -> \S+ ms \(\+\S+ ms\)\n/)
    files = result.err[/^ +BEFORE +AFTER +CHANGE +FILE\n(.*)/m, 1].lines
    expect(files.first(2)).to match [/\+\S+ ms +\S*shop\.rb$/, / -\S+ ms +\S*cart\.rb$/]
    json = JSON.parse(boot("--baseline", "before.pb.gz", "--json", "--out", "after.pb.gz", changed).err)
    expect(json["changes"]["files"].first).to match("name" => /shop\.rb\z/, "before" => be_between(5_000_000, 40_000_000), "after" => be > 75_000_000)
  end

  it "compares two that were kept" do
    %w[before after].each { |name| boot("--out", "#{name}.pb.gz", program("app", shop: name == "after" ? 0.1 : 0.02)) }
    result = profiler_child("diff", "before.pb.gz", "after.pb.gz", "--requires", chdir: box)
    expect([result.code, result.err]).to eq [0, ""]
    expect(result.out).to match(/\Aloading code: .*\n.*\n\n +BEFORE +AFTER +CHANGE +PACKAGE\n.*^ +BEFORE +AFTER +CHANGE +FILE\n.*\+\S+ ms +\S*shop\.rb$/m)
    json = JSON.parse(profiler_child("diff", "before.pb.gz", "after.pb.gz", "--requires", "--json", chdir: box).out)
    expect(json.keys).to match_array %w[before_file after_file before after type packages files]
    report = JSON.parse(profiler_child("report", "after.pb.gz", "--requires", "--json", chdir: box).out)
    expect(report["requires"]["total"]).to eq json["after"]
  end

  it "says what it cannot compare" do
    boot("--out", "cpu.pb.gz", program("app", shop: 0.01))
    profiler_child("boot", "--mode", "wall", "--out", "wall.pb.gz", "--", RbConfig.ruby, in_box("app/main.rb"), chdir: box)
    result = profiler_child("diff", "cpu.pb.gz", "wall.pb.gz", "--requires", chdir: box)
    expect([result.code, result.err]).to eq [1, "profiler: cpu.pb.gz has cpu time and the other profile wall time: record both with the same --mode\n"]
    result = profiler_child("diff", "cpu.pb.gz", "cpu.pb.gz", "--requires", "--md", "--absolute", chdir: box)
    expect([result.code, result.err]).to eq [2, "profiler: --requires cannot be combined with --md or --absolute\n"]
    result = profiler_child("diff", "cpu.pb.gz,wall.pb.gz", "cpu.pb.gz", "--requires", chdir: box)
    expect([result.code, result.err]).to eq [2, "profiler: --requires compares one file per side, not several: cpu.pb.gz,wall.pb.gz\n"]
    result = boot("--baseline", "gone.pb.gz", in_box("app/main.rb"))
    expect([result.code, result.err]).to eq [1, "profiler: cannot read gone.pb.gz: No such file or directory\n"]
  end
end
