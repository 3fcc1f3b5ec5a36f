# frozen_string_literal: true

require "tmpdir"
require_relative "../support/import_graph"

RSpec.describe ImportGraph do
  def graph(files)
    Dir.mktmpdir do |directory|
      files.each do |path, code|
        FileUtils.mkdir_p(File.dirname("#{directory}/#{path}"))
        File.write("#{directory}/#{path}", code)
      end
      described_class.new(directory)
    end
  end

  it "reads nested lists, paths in place, and names that a folder re-exports" do
    modules = graph(
      "lib.rs" => "mod a;\nmod b;\nmod c;\n",
      "a/mod.rs" => "mod x;\nmod y;\npub use x::{Deep, Other};\n",
      "a/x.rs" => "use crate::{b::{self, B}, c};\n",
      "a/y.rs" => "fn f() { super::x::g() }\n",
      "b.rs" => "use crate::a::Other; // use crate::c::C;\n",
      "c.rs" => "#[cfg(test)]\nmod tests {\n    use crate::a::Deep;\n}\n"
    ).modules
    expect(modules).to include("a::x" => %w[b c], "a::y" => %w[a::x], "b" => %w[a::x], "c" => [])
  end

  it "finds circles and imports upwards" do
    graph = graph("a.rs" => "use crate::b::B;\n", "b.rs" => "use crate::a::A;\n", "c.rs" => "use crate::a::A;\n")
    expect(graph.circles).to eq(["circle: a, b"])
    expect(graph.upwards(%w[a b])).to eq(["upwards: b imports a", "no place in the order of folders: c"])
  end

  it "takes a module with all that lies below it as one" do
    graph = graph("a/x.rs" => "mod part;\nfn f() { part::g() }\n", "a/x/part.rs" => "use super::f;\n")
    expect(graph.circles).to be_empty
  end
end
