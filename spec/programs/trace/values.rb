# frozen_string_literal: true

# A shop, and objects that end the process if the values of a trace call one of their methods. Needs the helpers.
class Hostile < BasicObject
  def method_missing(name, *) = ::Kernel.abort("called #{name}")
end

# Classes whose objects end the process if any of their methods is called, but for those that Ruby itself needs for a key of a Hash.
Liar, Impostor, Trap = [String, Hash, Array].map do |ancestor|
  Class.new(ancestor) do
    (instance_methods - %i[__send__ __id__ object_id hash eql?]).each { |name| define_method(name) { |*| abort "called #{name}" } }
  end
end

class Shop
  class << self
    %i[name to_s inspect ==].each { |name| define_method(name) { |*| abort "called #{name} of the class" } }
    def find(id) = id
  end
  def initialize(request = nil) = @request = request
  def call(env, *rest) = [200, env]
end

class Branch < Shop; end
def lines(name = "Shop#call", **options, &block)
  trace = Profiler.trace(name, max_overhead: 1, **options, &block)
  abort "dropped" if trace.to_h[:log_dropped] > 0
  trace.log.map { |line| line[/  (Shop.*), from /, 1] }
end
