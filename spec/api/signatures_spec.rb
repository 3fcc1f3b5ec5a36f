# frozen_string_literal: true

require "json"
require_relative "../support/signatures"

RSpec.describe Signatures do
  include_context "with a box"

  # Methods that Ruby calls by itself, and those that every Struct has.
  own = %w[respond_to_missing? method_missing included extended new [] members inspect keyword_init?].freeze

  before { skip "this Ruby comes without rbs" unless described_class.readable? }

  let(:declared) { described_class.new(Dir[File.join(Child::ROOT, "sig/**/*.rbs")]).methods }

  # The same of the running library: by owner and kind, +all+ methods with their parameters, and the names of +public+ ones.
  let(:defined) do
    result = ruby_child("-W0", "spec/programs/signatures/methods.rb", *declared.keys)
    expect(result.status).to be_success, result.err
    JSON.parse(result.out)
  end

  # @yield [String, Hash{String => Parameters}, Hash] "Owner#" or "Owner.", its signatures, and its methods
  # @return [Array] what the block returned, flattened
  def each_kind(&block)
    declared.flat_map do |owner, kinds|
      kinds.flat_map { |kind, signatures| block.call("#{owner}#{kind == "instance" ? "#" : "."}", signatures, defined[owner][kind]) }
    end
  end

  it "declare the methods that exist, and all public ones" do
    expect(declared.size).to be > 30
    wrong = each_kind do |owner, signatures, methods|
      missing = methods["public"].reject { |method| method.start_with?("_") || method.end_with?("=") } - signatures.keys - own
      (signatures.keys - methods["all"].keys).map { |item| "#{owner}#{item} does not exist" } + missing.map { |entry| "#{owner}#{entry} has no signature" }
    end
    expect(wrong).to be_empty, wrong.join("\n")
  end

  it "have the parameters of the methods" do
    compared = 0
    wrong = each_kind do |owner, signatures, methods|
      signatures.filter_map do |name, signature|
        method = Parameters.new(**methods["all"].fetch(name).transform_keys(&:to_sym))
        compared += 1 unless method.open
        method.difference("#{owner}#{name}", signature)
      end
    end
    expect(wrong).to be_empty, wrong.join("\n")
    expect(compared).to be > 500
  end

  # A method of each kind with its signature, and signatures that are wrong in a single way.
  {
    "few(a)" => ["(Integer a) -> void", "(Integer a, Integer b) -> void", "() -> void", "(?Integer a) -> void", "(*Integer a) -> void", "(Integer a, ?b: Integer) -> void"],
    "optional(a, b = 1)" => ["(Integer a) -> void | (Integer a, Integer b) -> void", "(Integer a, Integer b) -> void", "(Integer a) -> void"],
    "splat(*a, b)" => ["(*Integer a, Integer b) -> void", "(Integer b) -> void", "(*Integer a) -> void"],
    "keywords(a:, b: 1)" => ["(a: Integer, ?b: Integer) -> void", "(a: Integer) -> void", "(a: Integer, b: Integer) -> void", "(?a: Integer, ?b: Integer) -> void",
                             "(a: Integer, ?c: Integer) -> void", "(a: Integer, ?b: Integer, **Integer c) -> void"],
    "passes_on(a: 1, **b)" => ["(?a: Integer, ?b: Integer) -> void", "(?a: Integer) -> void", "(**Integer b) -> void"],
    "forwards(a, ...)" => ["(Integer a, ?b: Integer) -> void", "() -> void", "(?Integer a) -> void"],
    "block(&block)" => ["() ?{ () -> void } -> void", "() -> void"],
    "yields() = yield" => ["() { () -> void } -> void", "() -> void"],
    "yields_not() = 1" => ["() -> void", "() { () -> void } -> void"]
  }.each do |header, (right, *wrong)|
    name = header[/\w+/]

    it "find signatures that differ from a method: #{name}" do
      source = header.match?(/\) = /) ? "def #{header}" : "def #{header}; end"
      method = Parameters.of(Module.new { module_eval(source, __FILE__, __LINE__) }.instance_method(name))
      expect([right, *wrong].select { |text| method.match?(signature(name, text)) }).to eq([right])
    end
  end

  it "are reported by name, with both sides" do
    method = Parameters.of("".method(:replace))
    expect(method.difference("String#replace", signature("replace", "() -> String"))).to eq("String#replace(_) is declared as () -> String")
    expect(method.difference("String#replace", signature("replace", "(String a) -> String"))).to be_nil
  end

  it "are loose for native methods whose number of parameters varies, and no others" do
    expect(Parameters.of("".method(:split)).match?(signature("split", "(Integer a, Integer b, Integer c, Integer d) -> void"))).to be(true)
    expect(Parameters.of("".method(:replace)).match?(signature("replace", "(String a, ?String b) -> void"))).to be(false)
    expect(Parameters.of("".method(:replace)).match?(signature("replace", "(String a) -> void"))).to be(true)
  end

  it "are read from classes in modules, attributes, aliases and singleton methods" do
    methods = read("module A\n class B\n  attr_accessor a: Integer\n  alias self.d self.c\n  def self.c: (Integer) -> void\n  def self?.e: () -> void\n end\nend\n")
    expect(methods.transform_values { |kinds| kinds.transform_values { |kind| kind.transform_values(&:text) } })
      .to eq("A" => { "instance" => {}, "singleton" => {} },
             "A::B" => { "instance" => { "a" => "() -> Integer", "a=" => "(Integer) -> Integer", "e" => "() -> void" },
                         "singleton" => { "c" => "(Integer) -> void", "d" => "(Integer) -> void", "e" => "() -> void" } })
  end

  def signature(name, text)
    read("class A\n  def #{name}: #{text}\nend\n").fetch("A").fetch("instance").fetch(name)
  end

  def read(text)
    File.write(in_box("a.rbs"), text)
    described_class.new([in_box("a.rbs")]).methods
  end
end
