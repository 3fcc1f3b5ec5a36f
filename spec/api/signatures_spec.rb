# frozen_string_literal: true

require "json"

RSpec.describe "The signatures in sig/" do
  # Methods that Ruby calls by itself, and those that every Struct has.
  own = %w[respond_to_missing? method_missing included extended new [] members inspect keyword_init?].freeze

  # @return [Hash{String => Hash{String => Array<String>}}] names of methods in RBS, by owner, then by kind
  def declared
    skip "this Ruby comes without rbs" if Gem::Specification.find_all_by_name("rbs").empty?
    require "rbs"
    found = Hash.new { |hash, owner| hash[owner] = { "instance" => [], "singleton" => [] } }
    Dir[File.join(Child::ROOT, "sig/**/*.rbs")].each do |file|
      parsed = RBS::Parser.parse_signature(File.read(file))
      declarations = parsed.last.is_a?(Array) ? parsed.last : parsed # RBS 3 adds a buffer and directives
      declarations.each { |it| collect(it, nil, found) }
    end
    found
  end

  def collect(declaration, outer, found)
    return unless [RBS::AST::Declarations::Class, RBS::AST::Declarations::Module].include?(declaration.class)

    owner = [outer, declaration.name.to_s].compact.join("::")
    found[owner]
    declaration.members.each do |member|
      case member
      when RBS::AST::Members::MethodDefinition then found[owner][member.kind.to_s] << member.name.to_s
      when RBS::AST::Members::Alias then found[owner][member.kind.to_s] << member.new_name.to_s
      when RBS::AST::Members::AttrReader, RBS::AST::Members::AttrAccessor then found[owner]["instance"] << member.name.to_s
      when RBS::AST::Declarations::Base then collect(member, owner, found)
      end
    end
  end

  # The same of the running library: all methods, and those that are public and not internal.
  def defined(owners)
    result = ruby_child("-W0", "-e", <<~RUBY, JSON.generate(owners))
      require "json"
      require "profiler"
      # autoload.rb begins to profile, and what is for Rails needs it.
      Dir["#{Child::LIB}/profiler/**/*.rb"].grep_v(%r{/(autoload|rails)\.rb$|/in_rails/}).each { |it| require it }
      puts JSON.generate(JSON.parse(ARGV[0]).to_h { |name|
        owner = name.split("::").inject(Object) { |outer, it| outer.const_get(it) }
        sources = { "instance" => owner, "singleton" => owner.singleton_class }
        [name, sources.to_h { |kind, it| [kind, { all: it.instance_methods + it.private_instance_methods, public: it.public_instance_methods(false) }] }]
      })
    RUBY
    expect(result.status).to be_success, result.err
    JSON.parse(result.out)
  end

  it "declare the methods that exist, and all public ones" do
    signatures = declared.reject { |owner, _| owner.match?(/::Autoload\z|::Labels\z/) }
    expect(signatures.size).to be > 30
    runtime = defined(signatures.keys)
    wrong = signatures.flat_map do |owner, kinds|
      kinds.flat_map do |kind, names|
        there = runtime[owner][kind]
        missing = there["public"].reject { |it| it.start_with?("_") || it.end_with?("=") } - names - own
        (names - there["all"]).map { |it| "#{owner} #{kind} #{it} does not exist" } + missing.map { |it| "#{owner} #{kind} #{it} has no signature" }
      end
    end
    expect(wrong).to eq([])
  end
end
