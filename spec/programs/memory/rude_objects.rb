# frozen_string_literal: true

# Asks why objects are alive that abort when they are called, and for classes that do not exist. Prints the answers and the errors.
require_relative "../helpers"

class Rude < BasicObject
  def method_missing(*) = ::Kernel.abort("called")
  def ==(_) = ::Kernel.abort("called")
  def equal?(_) = ::Kernel.abort("called")
end

class Touchy
  def ==(_) = abort("called")
  def inspect = abort("called")
  def hash = 7
  def eql?(_) = abort("called")
  def self.name = abort("called")
end

class Wanted; end
HELD = { Touchy.new => [Rude.new, Rude.new], nil => Wanted.new }
class Rude; def initialize(held) = @held = held; end
HOLDER = Rude.new(Rude.new(Wanted.new))
why = Profiler.memory(why: "Wanted").why
p why[:count], why[:holders].map { |it| it[:path].map { |step| step[:name] } }.sort
p Profiler.memory(why: "Touchy").why[:count]
[7, "Wantd", "wanted", ""].each { |name| puts error { Profiler.memory(why: name) } }
