# frozen_string_literal: true

require_relative "parameters"

# Methods that RBS files declare, by owner and kind.
class Signatures
  KINDS = { instance: %w[instance], singleton: %w[singleton], singleton_instance: %w[instance singleton] }.freeze

  # @return [Hash{String => Hash{String => Hash{String => Parameters}}}] by owner, +instance+ or +singleton+, and name
  attr_reader :methods

  # @return [Boolean] whether this Ruby has the library
  def self.readable?
    Gem::Specification.find_all_by_name("rbs").any?
  end

  # @param files [Array<String>]
  def initialize(files)
    require "rbs"
    @methods = Hash.new { |all, owner| all[owner] = { "instance" => {}, "singleton" => {} } }
    files.each do |file|
      parsed = RBS::Parser.parse_signature(File.read(file))
      declarations = parsed.last.is_a?(Array) ? parsed.last : parsed # RBS 3 adds a buffer and directives
      declarations.each { |declaration| collect(declaration, nil) }
    end
  end

  private

  def collect(declaration, outer)
    return unless [RBS::AST::Declarations::Class, RBS::AST::Declarations::Module].include?(declaration.class)

    owner = [outer, declaration.name.to_s].compact.join("::")
    @methods[owner]
    aliases, members = declaration.members.partition { |member| member.is_a?(RBS::AST::Members::Alias) }
    members.each { |member| add(owner, member) }
    aliases.each { |aliased| kinds(owner, aliased).each { |methods| methods[aliased.new_name.to_s] = methods.fetch(aliased.old_name.to_s) } }
  end

  def add(owner, member)
    case member
    when RBS::AST::Members::MethodDefinition then declare(owner, member, member.name, Parameters.of_types(types(member)))
    when RBS::AST::Members::AttrReader then reader(owner, member)
    when RBS::AST::Members::AttrWriter then writer(owner, member)
    when RBS::AST::Members::AttrAccessor
      reader(owner, member)
      writer(owner, member)
    when RBS::AST::Declarations::Base then collect(member, owner)
    end
  end

  # RBS 3 has overloads in place of types.
  def types(member)
    member.respond_to?(:overloads) ? member.overloads.map(&:method_type) : member.types
  end

  def reader(owner, member)
    declare(owner, member, member.name, accessor(0, "() -> #{member.type}"))
  end

  def writer(owner, member)
    declare(owner, member, "#{member.name}=", accessor(1, "(#{member.type}) -> #{member.type}"))
  end

  def accessor(count, text)
    Parameters.new(text: text, least: count, most: count, required: [], optional: [], any_keyword: false, block: false, open: false)
  end

  def declare(owner, member, name, parameters)
    kinds(owner, member).each { |methods| methods[name.to_s] = parameters }
  end

  def kinds(owner, member)
    KINDS.fetch(member.kind).map { |kind| @methods[owner][kind] }
  end
end
