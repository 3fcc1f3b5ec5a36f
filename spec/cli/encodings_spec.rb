# frozen_string_literal: true

require "json"
require "shellwords"

# A path is bytes, and a name in a profile is UTF-8, in any locale.
RSpec.describe "The command profiler, where names and paths are not ASCII" do
  include_context "with a box"

  let(:ruby) { RbConfig.ruby }
  let(:program) { "# encoding: utf-8\ndef größe(n) = (1..n).each { |i| i.to_s }\ngröße(300_000)\nexit 3\n" }

  # A command line of a shell, in which $P is the command.
  def shell(line, directory, locale)
    env = { "P" => [ruby, Child::EXE].shelljoin, "LC_ALL" => locale, "RUBY" => ruby }
    command_child("sh", "-c", line, env: env, chdir: directory)
  end

  def directory_named(name)
    path = File.join(box, name).b
    Dir.mkdir(path)
    File.write(File.join(path, "größe.rb".b), program)
    path
  end

  %w[C C.UTF-8].each do |locale|
    { "größe" => "umlauts", "a\xFF" => "bytes that are not text" }.each do |name, what|
      it "records with the status of the program below a directory with #{what} in the locale #{locale}" do
        directory = directory_named(name)
        result = shell("exec $P record -o größe.pb.gz -o größe.html -- $RUBY größe.rb", directory, locale)
        expect(result).to have_attributes(code: 3, err: /wrote größe\.pb\.gz, größe\.html \(/)
        expect(result.err).not_to include("more of other processes")
        short = shell("exec $P record -- $RUBY größe.rb", directory, locale)
        expect(short).to have_attributes(code: 3, err: /wrote profile-.*profiler view/m)
        alone = shell("PROFILER_OUT=größe.pb.gz exec $RUBY -I #{Child::LIB} -r profiler/autoload größe.rb", directory, locale)
        expect(alone).to have_attributes(code: 3, err: /-> größe\.pb\.gz\n\z/)
      end
    end

    it "finds functions, files and labels that are not ASCII in the locale #{locale}" do
      directory = directory_named("größe")
      shell("exec $P record -q --label 'größe=ä' -o größe.pb.gz -- $RUBY größe.rb", directory, locale)
      { "report größe.pb.gz --focus größe" => /Object#größe/, "report --method 'größe$' größe.pb.gz" => /Object#größe/,
        "report --by größe" => /ä/, "check größe.pb.gz --max 'Object#größe: 100%'" => /passed/, "check größe.pb.gz --max '/größe/: 100%'" => /passed/,
        "annotate größe.pb.gz größe.rb" => /def größe/, "annotate größe.pb.gz 'Object#größe'" => /def größe/,
        "convert größe.pb.gz - --format svg --title größe" => /größe/, "diff größe.pb.gz größe.pb.gz --json" => /größe.pb.gz/ }.each do |line, wanted|
        expect(shell("exec $P #{line}", directory, locale)).to have_attributes(code: 0, out: wanted)
      end
    end

    it "accepts arguments that are not text in the locale #{locale}" do
      directory = directory_named("a\xFF")
      shell('exec $P record -q --label "$(printf "a=b\377")" -o "$(printf "\377.pb.gz")" -- $RUBY -e "400_000.times { |i| i.to_s }"', directory, locale)
      { 'report "$(printf "\377.pb.gz")" --by a' => [0, /b\uFFFD/], "report" => [0, /Integer#times/], "view --print" => [0, /html/], 'check --max "$(printf "\377: 5%%")"' => [0, /\uFFFD/],
        'report --focus "$(printf "\377")"' => [1, /\A\z/], 'annotate "$(printf "\377.rb")"' => [1, /\A\z/], 'report --trim-path "$(printf "\377")"' => [0, /Integer#times/],
        "view --print ." => [1, /\A\z/], 'report "$(printf "\376")" größe' => [2, /\A\z/],
        'view --print "$(printf "\377.pb.gz")" "$(printf "\377.pb.gz")"' => [0, /html/] }.each do |line, (code, wanted)|
        result = shell("exec $P #{line}", directory, locale)
        expect(result).to have_attributes(code: code, out: wanted), "#{line}\n#{result}"
        expect(result.err).not_to include("unexpected")
      end
    end
  end

  it "compares a file with a comma in its name" do
    shop = File.expand_path("../fixtures/shop.pb.gz", __dir__)
    File.binwrite("#{box}/a,b.pb.gz", File.binread(shop))
    File.binwrite("#{box}/c.pb.gz", File.binread(shop))
    { "diff a,b.pb.gz c.pb.gz,c.pb.gz --json" => { "before_files" => ["a,b.pb.gz"], "after_files" => %w[c.pb.gz c.pb.gz] },
      "view --print --json a,b.pb.gz c.pb.gz" => { "before_files" => ["a,b.pb.gz"] }, "check a,b.pb.gz --max 'x: 5%' --json" => { "ok" => true } }.each do |line, facts|
      result = shell("exec $P #{line}", box, "C.UTF-8")
      expect(JSON.parse(result.out[/\{.*\}/m] || result.err)).to include(facts)
    end
  end
end
