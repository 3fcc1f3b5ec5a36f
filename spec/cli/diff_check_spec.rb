# frozen_string_literal: true

# A build fails when code gets slower, and only then. The files are generated; random weights have a seed.
RSpec.describe "profiler diff and check" do
  include_context "with a box"

  # A run of a program with 20 methods as folded stacks, the first with a fifth of the samples, times +slower+.
  def write_run(name, seed, samples: 20_000, slower: 1.0)
    random = Random.new(seed)
    weights = Array.new(20) { |number| number.zero? ? 0.2 * slower : 0.8 / 19 }
    ends = weights.each_with_object([]) { |weight, sums| sums << ((sums.last || 0) + weight) }
    counts = Hash.new(0)
    (samples * ends.last).round.times { counts[ends.index { |ending| ending > random.rand * ends.last } || 19] += 1 }
    lines = counts.map { |method, number| "<main>;Shop#serve;Shop#m#{method} #{number}" }
    File.write("#{box}/#{name}.folded", lines.join("\n"))
    "#{name}.folded"
  end

  def side(name, seed, **options) = (0..2).map { |number| write_run("#{name}#{number}", seed + number, **options) }.join(",")

  def run(*arguments)
    result = profiler_child(*arguments, chdir: box)
    expect(result.err).to eq ""
    [result.code, result.out]
  end

  it "find no change between equal profiles" do
    status, out = run("diff", side("old", 100), side("new", 200))
    expect(status).to eq 0
    expect(out.lines.first).to match(/\Aas fast as before: \S+ -> \S+\n\z/)
    expect(out.lines[3..]).to match [
      "No function's share has changed significantly.\n", "The largest ones, which can be chance (?). To find out, record more runs of each side: profiler diff a1,a2,a3 b1,b2,b3\n",
      "\n", *Array.new(5) { match(/\A +\d+\.\d+% +\d+\.\d+% +[+-]\d+\.\d+% +[+-]\d+% \? Shop#m\d+  / ) }
    ]
    expect(run("diff", side("old", 100), side("new", 200), "--md").last).to match(/^No function's share has changed significantly\. The largest .*^\| .*`Shop#m\d+` \(not significant\) \|$/m)
    expect(run("diff", "old0.folded", "old0.folded")).to match [0, /\Aas fast as before: .*\nsamples: .*\n\nNo function's share has changed significantly\.\n\z/]
    expect(run("check", "new0.folded,new1.folded,new2.folded", "--baseline", "old0.folded,old1.folded,old2.folded"))
      .to match [0, /Nothing is slower than in the baseline\.\n\npassed\n\z/]
  end

  it "list regressions first, in text, JSON, Markdown and SVG, and fail the build" do
    old, slow = side("old", 100), side("new", 200, slower: 1.3)
    _, out = run("diff", old, slow, "-o", "difference.svg")
    expect(out.lines.drop(4).first).to match(/\A +20\.\d+% +2[34]\.\d+% +\+[34]\.\d+% +\+\d+%   Shop#m0  /)
    expect(File.read("#{box}/difference.svg")).to include("<svg", "Shop#m0", "red: more than before")
    expect(File.stat("#{box}/difference.svg").mode & 0o777).to eq 0o600
    run("diff", old, slow, "-o", "difference.html")
    expect(File.read("#{box}/difference.html")).to include('"side":"before"', '"name":"old0.folded"')
    expect(File.stat("#{box}/difference.html").mode & 0o777).to eq 0o600
    expect(profiler_child("diff", old, slow, "-o", "it.png", chdir: box).err).to match(/it\.png does not end in \.svg or \.html/)
    expect(Dir.children(box).grep(/tmp/)).to eq []
    nowhere = profiler_child("diff", old, slow, "-o", "gone/difference.svg", chdir: box)
    expect([nowhere.code, nowhere.out, nowhere.err]).to match [1, "", %r{\Aprofiler: cannot write gone/difference\.svg: No such file or directory}]
    json = JSON.parse(run("diff", old, slow, "--json").last)
    first = json["changes"].first
    expect(first).to include("name" => "Shop#m0", "significant" => true)
    expect(first["after"] - first["before"]).to be_within(0.01).of((0.26 / 1.06) - 0.2)
    expect(run("diff", old, slow, "--md").last).to match(/^\| 20\.\d+% \| 2[34]\.\d+% \| \+[34]\.\d+% \| \+\d+% \| \*\*`Shop#m0`\*\* \|$/)
    _, absolute = run("diff", old, slow, "--absolute", "--sort-total", "--type", "samples")
    expect(absolute).to match(/^ +4,0\d\d +5,2\d\d +\+1,1\d\d +\+\d+%   Shop#m0  /).or match(/^ +[34],\d+ +5,\d+ +\+1,\d+ +\+\d+%   Shop#m0  /)
    expect(run("check", slow, "--baseline", old)).to match [1, /Shop#m0.*\n\nFAILED\n\z/m]
    expect(run("check", slow, "--baseline", old, "--tolerance", "50%").first).to eq 0
    status, markdown = run("check", slow, "--baseline", old, "--md")
    expect([status, markdown]).to match [1, /\A### Profile: \*\*failed\*\*\n.*\| \*\*`Shop#m0`\*\* \|/m]
  end

  it "say which runs failed" do
    code = "9.to_s while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.2; "
    { "good" => "exit", "bad" => "exit 3", "raised" => "raise 'on purpose'" }.each do |name, ending|
      profiler_child("record", "--quiet", "--mode", "cpu", "-o", "#{name}.pb.gz", "--", RbConfig.ruby, "-e", code + ending, chdir: box)
    end
    expect(run("diff", "good.pb.gz", "good.pb.gz").last.lines.first).to match(/\Aas fast as before: \S+ ms -> \S+ ms\n\z/)
    expect(run("diff", "good.pb.gz", "bad.pb.gz").last).to match(/\A[^\n]*, but the run after failed \(exit status 3\)$/)
    expect(run("diff", "raised.pb.gz,good.pb.gz", "bad.pb.gz").last.tr("\n", " ")).to match(/, but 1 of 2 runs before failed \(RuntimeError\) and the run after failed \(exit status 3\) /)
    json = JSON.parse(run("diff", "good.pb.gz", "bad.pb.gz", "--json").last)
    expect(json["failed"]).to eq("before" => [], "after" => ["exit status 3"])
    expect(run("check", "bad.pb.gz", "--max", "<main>: 100%")).to match [0, /^passed, but a run failed: exit status 3\n\z/]
    expect(run("check", "bad.pb.gz,raised.pb.gz", "--max", "<main>: 100%", "--strict")).to match [1, /^FAILED, and 2 runs failed: exit status 3, RuntimeError\n\z/]
    expect(JSON.parse(run("check", "good.pb.gz", "--max", "<main>: 100%", "--json").last)["failed"]).to eq []
  end

  it "fail when a limit is exceeded, not when it is kept" do
    write_run("a", 1)
    expect(run("check", "a.folded", "--max", "Shop#m0: 25%", "--max", "/m1\\d/: 10%").first).to eq 0
    status, out = run("check", "a.folded", "--max", "Shop#m0: 15%", "--max", "Shop#serve: 100%")
    expect([status, out]).to match [1, /^over +(19|20)\.\d+% of 15%  Shop#m0\nok +100\.00% of 100%  Shop#serve\n\nFAILED$/]
    expect(run("check", "a.folded", "--max", "Shop#m0: 100").first).to eq 1
    json = JSON.parse(run("check", "a.folded", "--max", "Shop#m0: 15%", "--json").last)
    expect(json).to include("ok" => false, "limits" => [include("name" => "Shop#m0", "limit" => "15%", "ok" => false)])
  end

  it "warn of a limit on a function that no profile has, and fail with --strict" do
    write_run("a", 1)
    arguments = ["check", "a.folded", "--max", "Gone#gone: 1%", "--max", "Shop#m0: 50%"]
    results = [[], %w[--strict]].map { |more| profiler_child(*arguments, *more, chdir: box) }
    expect(results.map(&:code)).to eq [0, 1]
    expect(results.map(&:err)).to all eq "profiler: --max Gone#gone: these profiles have no such function\n"
  end

  # Writes runs whose methods have these weights.
  def write_weights(name, weights)
    File.write("#{box}/#{name}.folded", weights.map { |method, number| "<main>;Shop#serve;Shop#m#{method} #{number}" }.join("\n"))
    "#{name}.folded"
  end

  even = (1..10).to_h { |number| [number, 1_000] }
  {
    "much faster" => [{ 0 => 20_000, **even }, even, 0, "3.0 times faster: 30,000 -> 10,000, because Shop#m0 went from 20,000 to nothing"],
    "much slower" => [even, { 0 => 20_000, **even }, 1, "3.0 times slower: 10,000 -> 30,000, because Shop#m0 went from nothing to 20,000"],
    "a bit faster" => [{ 0 => 4_000, **even }, { 0 => 2_000, **even }, 0, "14% less time: 14,000 -> 12,000, because Shop#m0 went from 4,000 to 2,000"],
    "a bit slower" => [{ 0 => 2_000, **even }, { 0 => 4_000, **even }, 1, "17% slower: 12,000 -> 14,000, because Shop#m0 went from 2,000 to 4,000"],
    "moved to another method" => [{ 0 => 4_000, 11 => 100, **even }, { 0 => 100, 11 => 4_000, **even }, 1, "as fast as before: 14,100 -> 14,100"],
    "faster, but for one method" => [{ 0 => 20_000, **even }, { **even, 1 => 2_500 }, 1, "2.6 times faster: 30,000 -> 11,500, because Shop#m0 went from 20,000 to nothing"],
    "the same on a slower machine" => [even, even.transform_values { |number| number * 3 / 2 }, 0, "50% slower: 10,000 -> 15,000"],
    "the same on a faster machine" => [even, even.transform_values { |number| number / 2 }, 0, "2.0 times faster: 10,000 -> 5,000"],
    "the same" => [even, even, 0, "as fast as before: 10,000 -> 10,000"],
    "noisy" => [even, even.merge(1 => 1_040, 2 => 965), 0, "as fast as before: 10,000 -> 10,005"],
    "empty" => [even, { 1 => 1 }, 0, "10000.0 times faster: 10,000 -> 1"]
  }.each do |what, (before, after, status, headline)|
    it "tell what became #{what}" do
      old, new = write_weights("old", before), write_weights("new", after)
      json = JSON.parse(run("diff", old, new, "--json").last)
      expect(json["headline"]).to eq headline
      expect(run("check", new, "--baseline", old).first).to eq status
      expect(run("diff", old, new).last.lines.first.chomp).to eq headline
      expect(JSON.parse(run("check", new, "--baseline", old, "--json").last)).to include("ok" => status.zero?, "headline" => headline)
    end
  end

  it "do not call a whole that is slower no slower" do
    old, new = write_weights("old", even), write_weights("new", even.transform_values { |it| it * 3 / 2 })
    part = "The whole is slower, but no function's share of it grew significantly. To find out, record more runs of each side: profiler diff a1,a2,a3 b1,b2,b3"
    expect(run("check", new, "--baseline", old).last.lines.values_at(2, -1)).to eq ["#{part}\n", "passed\n"]
    expect(run("check", [new] * 3 * ",", "--baseline", [old] * 3 * ",").last).to match(/ grew significantly\. Pass --absolute to compare the weights themselves\.$/)
    expect(run("check", "--absolute", [new] * 3 * ",", "--baseline", [old] * 3 * ",").first).to eq 1
  end

  it "fail for a wait that grew, which each run waits only once", :timed do
    File.write(in_box("shop.rb"), "class Shop\n  def fetch(seconds) = sleep(seconds)\nend\nShop.new.fetch(Float(ARGV[0]))\nreturns = 200_000.times { |it| it.to_s }\n")
    runs = { "old" => 0.05, "new" => 0.4 }.map do |name, seconds|
      Array.new(3) do |number|
        result = profiler_child("record", "-q", "--mode", "cpu,wall", "-o", "#{name}#{number}.pb.gz", "--", RbConfig.ruby, "shop.rb", seconds.to_s, chdir: box)
        expect(result.status).to be_success, result.err
        "#{name}#{number}.pb.gz"
      end * ","
    end
    status, out = run("check", runs.last, "--baseline", runs.first)
    expect([status, out]).to match [1, /slower: .*because Shop#fetch went from [\d.]+ ms to 4\d\d ms$.*^ .* Kernel#sleep  <cfunc>$.*^FAILED$/m]
    expect(run("check", runs.first, "--baseline", runs.first).first).to eq 0
  end

  it "exit with 3 when profiles cannot be compared, and with 2 for wrong usage" do
    write_run("a", 1)
    shop = File.expand_path("../fixtures/shop.pb.gz", __dir__)
    {
      %w[a.folded] => [2, /nothing to check: pass --max, --baseline or both/],
      [",", "--max", "a: 1%"] => [2, /"," names no file/],
      ["a.folded", "--max", "Shop#m0"] => [2, /--max "Shop#m0" is not a limit/],
      ["a.folded", "--max", "Shop#m0: 5 parsecs"] => [2, /is not a limit \(allowed: /],
      ["a.folded", "--max", "Shop#m0: 5ms"] => [2, /--max 'Shop#m0: 5ms' is not a limit for samples, whose unit is count \(allowed: 5%, a plain number\)/],
      [shop, "--max", "Order#save: 5MB"] => [2, /'Order#save: 5MB' is not a limit for \w+, whose unit is nanoseconds \(allowed: 5%, 200ms, a plain number\)/],
      ["gone.folded", "--max", "a: 1%"] => [3, /cannot read gone\.folded: No such file/],
      ["a.folded", "--max", "a: 1%", "--type", "wall"] => [3, /the profile has no "wall"/]
    }.each do |arguments, (status, message)|
      result = profiler_child("check", *arguments, chdir: box)
      expect([result.code, result.out, result.err]).to match([status, "", message]), arguments.inspect
    end
    expect(profiler_child("diff", "a.folded", chdir: box).err).to include("expected two profiles, BEFORE and AFTER, got 1")
  end
end
