# frozen_string_literal: true

require "fileutils"

RSpec.describe "Profiler.view" do
  include_context "with a program"
  include_context "with a box"

  after { FileUtils.rm_rf(File.dirname(@page)) if @page }

  it "shows the block's page with a timeline in the browser, readable only by its owner" do
    browser = script("#!/bin/sh\necho \"$1\" > #{in_box("opened")}\n", name: "browser")
    File.chmod(0o755, browser)
    kept = run_json("print_json(Profiler.view { 200_000.times { |it| it.to_s } }.timeline.size)", env: { "BROWSER" => browser })
    wait_until { File.size?(in_box("opened")) }
    @page = File.read(in_box("opened")).chomp
    expect(File.read(@page, 15)).to eq "<!DOCTYPE html>"
    expect([kept.positive?, File.stat(@page).mode & 0o777, File.stat(File.dirname(@page)).mode & 0o777]).to eq [true, 0o600, 0o700]
  end

  it "is a file that is read as any other profile" do
    page = in_box("it.html")
    same = run_json(<<~RUBY)
      profile = Profiler.run(out: #{page.inspect}) { Profiler.label(a: "</script>") { 200_000.times { |it| it.to_s } } }
      print_json([profile, Profiler::Profile.load(#{page.inspect})].map { |it| [it.report, it.by(:a).size, it.timeline.size] }.uniq.size)
    RUBY
    expect(same).to eq 1
    [["report", page], ["tree", page], ["diff", page, page], ["convert", page, in_box("it.pb.gz")], ["merge", page, page, "-o", in_box("both.pb.gz")]].each do |words|
      expect([words.first, profiler_child(*words).err[/^profiler:.*/]]).to eq [words.first, nil]
    end
    File.write(page, File.read(page)[/.*id="profile">.{40}/m])
    expect(profiler_child("report", page).err).to match(/\Aprofiler: #{page}: a profile that was cut short/)
  end

  it "shows what changed since earlier profiles" do
    result = ruby_child("-e", <<~RUBY, env: { "PATH" => box, "BROWSER" => "" })
      require "profiler"
      one, other = Array.new(2) { Profiler.run { 200_000.times { |it| it.to_s } } }
      puts other.view(before: [one, one], title: "both")
    RUBY
    @page = result.out.chomp
    facts = JSON.parse(File.read(@page)[/id="facts">(.*?)<\/script>/m, 1])
    expect([facts["title"], facts["comparison"]["runs"].map { |fact| fact["side"] }]).to eq ["both", %w[after before before]]
    expect(File.stat(@page).mode & 0o777).to eq 0o600
  end

  it "only prints the path of the page over ssh, and when there is no browser" do
    [{ "SSH_CONNECTION" => "a", "BROWSER" => "", "DISPLAY" => "", "WAYLAND_DISPLAY" => "" }, { "PATH" => box, "BROWSER" => "" }].each do |env|
      result = ruby_child("-e", "require 'profiler'; puts Profiler.run { 9_000.times { |it| it.to_s } }.view", env: env)
      @page = result.out.chomp
      expect(result.err).to eq "[profiler] the page is #{@page}\n"
      FileUtils.rm_rf(File.dirname(@page))
    end
  end
end
