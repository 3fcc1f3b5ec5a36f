# frozen_string_literal: true

# Counts the objects of classes by their names, including classes that the block loads, and that cannot be found. Prints what each
# name raises.
require_relative "../helpers"
require "profiler/rspec"
require "minitest"
require "profiler/minitest"

class Point; end
ALIAS = Point
autoload :OnFirstUse, "on_first_use"

module Space
  def self.const_missing(name) = raise("const_missing of #{name}")
  def self.const_defined?(*) = raise("const_defined?")
end

include Profiler::RSpec
limit = ->(name, &block) { error { raise "too many" unless allocate_at_most(0).of(name).matches?(block || -> { [Point.new].size }) } }
test = Object.new.extend(Minitest::Assertions, Profiler::Minitest)
class << test; attr_accessor :assertions; end
test.assertions = 0
anonymous = Class.new(Point)
found = Profiler.allocations_of { [Point.new, anonymous.new] }
kept = ["Rational", :Rational, "LoadedLater::Inner", "OnFirstUse", "OnFirstUse::Any", "#<anonymous subclass of Point>", "Space::Other"]
others = ["::Point", "ALIAS", "Kernel", "", "point", "Point::", "a b", "é", "Space::Nested::Deep", "x" * 100_000]
print_json(kept: kept.map { |name| limit.(name) { require "loaded_later" } }, broken: limit.("Point"), misspelt: limit.("Pont"),
           others: others.map { |name| limit.(name)[0, 45] }, assertion: error { test.assert_allocates_at_most(0, of: "Pont") { 1 } },
           asked: error { found.bytes("Pont") }, anonymous: found.objects("#<anonymous subclass of Point>"))
