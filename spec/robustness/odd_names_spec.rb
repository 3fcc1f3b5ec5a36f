# frozen_string_literal: true

# A directory of profiles may have files of others, whose names are bytes.
RSpec.describe "A directory of profiles" do
  include_context "with a box"

  it "keeps the newest files beside one whose name is not text" do
    directory = File.join(box, "profiles\xFF".b)
    Dir.mkdir(directory, 0o700)
    File.write(File.join(directory, "\xFF.txt".b), "")
    code = <<~'RUBY'
      kept = Profiler::Directory.new(ARGV.first, keep: 1)
      2.times { kept.write(Profiler.run { 1 }) }
      puts Dir.children(ARGV.first).count { |name| name.b.end_with?(".pb.gz") }, kept.list.size
    RUBY
    expect(ruby_child("-rprofiler", "-e", code, directory)).to have_attributes(err: "", out: "1\n1\n")
    expect(profiler_child("view", "--print", directory)).to have_attributes(code: 0, err: "")
  end
end
