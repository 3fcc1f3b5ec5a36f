# frozen_string_literal: true

# Values that raise if one of their methods is called, and what is raised for each of them. Needs the helpers.
require "tmpdir"
require "profiler/rspec"
require "profiler/sidekiq"

Dir.chdir(Dir.mktmpdir.tap { |box| at_exit { FileUtils.rm_rf(box) } })

# Defines these methods so that a call of one raises.
class Module
  def raises(*names) = names.each { |name| define_method(name) { |*| raise "the app's #{name} was called" } }
end

class Hostile
  raises(*%i[inspect to_s hash == eql? class is_a? nil? === method_missing])
end

# A number of the app, all of whose methods raise; and one that can be converted, but says nothing.
class Raising < Numeric
  raises(*(Numeric.instance_methods + Comparable.instance_methods - %i[object_id __send__ __id__ equal? !]),
         *%i[to_f to_r to_i to_int to_s inspect])
end

class Mute < Numeric
  def to_f = 1.0
  raises(*%i[to_s inspect * / + - <=> > < coerce floor ceil round])
end

def hostile_values
  [BasicObject.new, Hostile.new, "ab".encode("UTF-16LE"), "\xff", (1..), Complex(1, 2), [BasicObject.new], Raising.new, Mute.new,
   0.0 / 0, 1 / 0.0, -1e300, 1e300, 10**40, [nil]]
end

# An error that is short enough to be read.
def allowed?(raised)
  raised.valid_encoding? && raised.match?(/\A(ArgumentError|Profiler::\w+): |\Anone\z/) && raised.size < 1_000
end

# Returns what is raised for each value, unless it is an allowed error or one of the system.
def wrong(name)
  hostile_values.filter_map do |value|
    raised = error { yield value }
    "#{name} #{Profiler.const_get(:AnyObject).text(value)}: #{raised.scrub[0, 200]}" unless raised.start_with?("Errno::") || allowed?(raised)
  end
end

include Profiler::RSpec
