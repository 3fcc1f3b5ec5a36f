# frozen_string_literal: true

RSpec.describe "ARCHITECTURE.md" do
  homes = { "core/" => "ext/profiler_core/src/", "ext/" => "ext/", "lib/" => "lib/", "spec/" => "spec/", "rakelib/" => "rakelib/", "docs/" => "docs/" }

  it "is a map: at most 300 lines, none of prose longer than 120 characters" do
    lines = File.readlines(File.join(Child::ROOT, "ARCHITECTURE.md"), chomp: true)
    expect(lines.size).to be_between(150, 300)
    expect(lines.select { |line| line.size > 120 && !line.start_with?("|") }).to eq([])
  end

  it "names only files that exist" do
    text = File.read(File.join(Child::ROOT, "ARCHITECTURE.md"))
    paths = text.scan(%r{`((?:\w+/)+\w+\.(?:rs|rb|md|rake))`}).flatten.uniq
    missing = paths.reject do |path|
      start, home = homes.find { |beginning, _home| path.start_with?(beginning) } || ["", "ext/profiler/src/"]
      File.file?(File.join(Child::ROOT, home + path.delete_prefix(start)))
    end
    expect(paths.size).to be > 50
    expect(missing).to eq([])
  end
end
