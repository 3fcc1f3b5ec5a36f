# frozen_string_literal: true

require_relative "../support/tools"

# A program can call its methods what it wants, and answer for itself what it wants. No format breaks, and
# nobody asks it.
RSpec.describe "Hostile names" do
  include Tools

  include_context "with a program"

  let(:prelude) { "def tick = Profiler::Testing.handler_ns(16)" }

  it "are found without calling the app" do
    names = program_json("names/hostile")
    expect(names).to contain_exactly(
      "Hostile#work", "Hostile#made", "#<instance of Hostile>.own", "#<anonymous subclass of Hostile>#sub",
      "#<refinement Refining of Hostile>#refined", "Hostile#work", "Hostile#made"
    )
  end

  # Saves a profile with names of every kind of evil in each format.
  #
  # @return [Integer] the number of names
  def save_hostile(box)
    run_json(<<~'RUBY' + <<~RUBY)
      names = ["a\0b", "a\nb 1\n", "a;b", "</script><script>alert(1)</script>", "]]>&lt;", "\xff\xfe".b, "\u202egnp.exe", "\e[31mred", "x" * 100_000, " ", "",
               "é#ü.ö", '"\'`$(rm)', "(garbage collection)", "a\tb", "Foo#bar"]
      class Hostile; end
      $names = names
      names.each_index { |it| Hostile.class_eval("define_method($names[#{it}]) { tick }", "hostile.rb", it) }
      names.each_index { |it| Hostile.class_eval("define_singleton_method($names[#{it}]) { tick }", "hostile.rb", 100 + it) }
      call = -> { names.each { |name| Hostile.new.send(name); Hostile.send(name) } }
      if Module.method_defined?(:set_temporary_name)
        odd = names.map { |name| Class.new { def work = tick }.set_temporary_name("<" + name) rescue nil }.compact
      end
    RUBY
      profile = Profiler.run(threads: :current) { call.call; odd&.each { |it| it.new.work } }
      %w[x.pb.gz x.svg x.folded x.txt].each { |file| profile.save("#{box}/" + file) }
      print_json(profile.samples.flat_map { |it| it.frames.map(&:name) }.uniq.grep(/Hostile/).size)
    RUBY
  end

  it "break no format and no page" do
    Dir.mktmpdir do |box|
      expect(save_hostile(box)).to be >= 28
      texts = %w[x.svg x.folded x.txt].to_h { |file| [file, File.read("#{box}/#{file}", encoding: "UTF-8")] }
      texts.each do |file, text|
        expect(text).to be_valid_encoding, file
        expect(text).not_to match(/[\0\e\u202e]/), file
      end
      expect(texts["x.folded"].lines.size).to be >= 28
      expect(texts["x.folded"].lines).to all(match(/\A\S.* \d+\n\z/))
      expect(texts["x.svg"]).not_to include("<script>alert", "]]>&lt;")
      expect(run_json("print_json(Profiler::Profile.load('x.pb.gz').samples.size)", chdir: box)).to be > 1
    end
  end

  it "leave an SVG well-formed" do
    need "xmllint"
    Dir.mktmpdir do |box|
      save_hostile(box)
      checked = command_child("xmllint", "--noout", "#{box}/x.svg")
      expect([checked.code, checked.err]).to eq([0, ""])
    end
  end
end
