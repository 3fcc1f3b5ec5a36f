# frozen_string_literal: true

# Calls methods of a class whose own methods abort, and of its relatives. Prints the names that the profile has for them.
require_relative "../helpers"

def tick = Profiler::Testing.handler_ns(16)

module Asked
  %i[name to_s inspect hash == eql? equal? === singleton_class? attached_object superclass instance_method instance_methods
     private_instance_methods instance_of? is_a? kind_of? class object_id target respond_to? method_missing].each do |question|
    define_method(question) { |*| Kernel.abort("asked for #{question}") }
  end
end

class Hostile
  def work = tick
  define_method(:made) { tick }
end

object = Hostile.new
def object.own = tick
anonymous = Class.new(Hostile) { def sub = tick }
nameless = anonymous.new
Refining = Module.new { refine(Hostile) { def refined = tick } }
using Refining
calls = [-> { object.work }, -> { object.made }, -> { object.own }, -> { nameless.sub }, -> { object.refined }]
methods = [Hostile.instance_method(:work), Hostile.instance_method(:made)]
[Hostile, anonymous, Refining].each { |it| it.singleton_class.prepend(Asked) }
Hostile.prepend(Module.new { %i[class inspect to_s hash].each { |it| define_method(it) { |*| Kernel.abort("asked") } } })
profile = Profiler.run(threads: :current) { calls.each(&:call) }
names = profile.samples.flat_map { |sample| sample.frames.map(&:name) }.uniq.grep(/work|made|own|sub|refined/)
print_json(names + methods.map { |method| Profiler.name_of(method) })
