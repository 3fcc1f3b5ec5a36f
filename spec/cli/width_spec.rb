# frozen_string_literal: true

require_relative "../support/terminal"

# The lines of commands fit the terminal: long names and paths are cut, sentences are broken at blanks.
RSpec.describe "the output of commands on a terminal" do
  include Terminal
  include_context "with a box"

  before(:context) do
    @directory = Dir.mktmpdir("a recording ")
    name = "a_method_with_a_name_that_nobody_would_write_but_a_generator"
    deep = (1..40).map { |level| "def #{name}_#{level} = #{level == 40 ? "20_000.times { |it| it.to_s }" : "#{name}_#{level + 1}"}" }.join("\n")
    lib = File.join(@directory, "a_directory_of_a_long_name/that_holds_another_one/of_a_long_name_too")
    FileUtils.mkdir_p(lib)
    (1..8).each do |level|
      text = "30_000.times { |it| it.to_s }\n#{"require_relative %p" % "#{name}_#{level + 1}" if level < 8}\n"
      File.write(File.join(lib, "#{name}_#{level}.rb"), text)
    end
    File.write(File.join(lib, "app.rb"), "require_relative %p\nmodule Long; module Names; module Everywhere\n#{deep}\nend end end\ninclude Long::Names::Everywhere\n" \
                                         "5.times { #{name}_1; sleep 0.05 }\nThread.new { sleep 0.1 }.join\n" % "#{name}_1")
    ["a.pb.gz", "b.pb.gz"].each do |file|
      result = profiler_child("record", "--mode", "cpu,wall", "-q", "-o", File.join(@directory, file), "--", RbConfig.ruby, File.join(lib, "app.rb"))
      raise result.err unless result.code.zero?
    end
    @app = File.join(lib, "app.rb")
  end

  after(:context) { FileUtils.remove_entry(@directory) }

  def lines_of(width, *arguments)
    shell = ["sh", "-c", "stty cols #{width} rows 50; cd \"$0\" && exec \"$@\"", @directory]
    text, _status = terminal_child(*shell, RbConfig.ruby, Child::EXE, *arguments)
    text.gsub(/\e\[[\d;]*[mK]/, "").split(/\r?\n/)
  end

  commands = {
    "report" => %w[report a.pb.gz], "report --by" => %w[report a.pb.gz --by state], "report --method" => %w[report a.pb.gz --method generator_4$],
    "report --requires" => %w[report a.pb.gz --requires --limit 0], "report --type cpu" => %w[report a.pb.gz --type cpu], "tree" => %w[tree a.pb.gz --all], "annotate" => %w[annotate a.pb.gz],
    "diff" => %w[diff a.pb.gz b.pb.gz --all], "check" => ["check", "a.pb.gz", "--max", "/name/: 1ms", "--baseline", "b.pb.gz"],
    "doctor" => %w[doctor], "help" => %w[--help]
  }
  %w[record stat view report tree annotate diff check merge convert doctor completion].each { |name| commands["#{name} --help"] = [name, "--help"] }

  [80, 120].each do |width|
    commands.each do |name, arguments|
      it "fits #{width} columns: #{name}" do
        lines = lines_of(width, *arguments)
        expect(lines.size).to be > 3
        expect(lines.select { |line| line.size > width }).to eq []
      end
    end

    it "fits #{width} columns: record, in 12 lines" do
      lines = lines_of(width, "record", "--", RbConfig.ruby, @app)
      expect(lines.size).to be_between(5, 12)
      expect(lines.select { |line| line.size > width }).to eq []
    end
  end

  it "is whole with --full-paths" do
    lines = lines_of(80, "report", "a.pb.gz", "--full-paths", "--limit", "0")
    expect(lines).to include(a_string_including("Long::Names::Everywhere#a_method_with_a_name_that_nobody_would_write_but_a_generator_40", @app))
  end
end
