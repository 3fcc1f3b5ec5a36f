# frozen_string_literal: true

# Builds a random heap of classes, modules, singletons and refinements inside each other (SEED), takes a sample in each of their
# methods and prints the names, one a line. PADDING objects are allocated first, so that everything lies elsewhere. Objects move
# all the time, and unnamed ones die.
require "profiler"

RANDOM = Random.new(Integer(ENV.fetch("SEED")))
Array.new(Integer(ENV.fetch("PADDING", "0"))) { |number| "padding #{number}" }.each_slice(3) { |slice| ($kept ||= []) << slice.first }
GC.auto_compact = true

def tick = Profiler::Testing.handler_ns(16)

$number = 0
$alive = []
$calls = []

def number = $number += 1

# Something to define methods in, and how to call them: [module, -> { receiver }].
def place(parent)
  case RANDOM.rand(9)
  when 0 then Class.new(parent).then { |built| [Object.const_set("Named#{number}", built), -> { built.new }] }
  when 1 then Class.new(parent).then { |built| [built, -> { built.new }] }
  when 2 then Module.new.then { |built| [built, -> { Object.new.extend(built) }] }
  when 3 then Struct.new(:a).then { |built| [built, -> { built.new(1) }] }
  when 4 then parent.new.then { |built| [built.singleton_class, -> { built }] }
  when 5 then Class.new(parent).then { |built| [built.singleton_class, -> { built }] }
  when 6 then Class.new(parent).singleton_class.then { |built| [built.singleton_class, -> { built }] }
  when 7 then Module.new.const_set("Inside#{number}", Class.new).then { |built| [built, -> { built.new }] }
  else
    Class.new(parent) { prepend(Module.new { def over = super }) }.then { |built| [built, -> { built.new }] }
  end
end

def method_in(mod)
  name = "m#{number}"
  lives = true
  case RANDOM.rand(6)
  when 0, 1
    mod.class_eval("def #{name} = [1].each { tick }", "made.rb", $number)
    lives = RANDOM.rand < 0.5 # its class lives as long as its frames do
  when 2 then mod.class_eval("define_method(:#{name}) { [1].each { tick } }", "made.rb", $number)
  when 3 then mod.define_method(name) { tick }
  when 4 then mod.class_eval("def #{name}; tick; end; alias also_#{name} #{name}", "made.rb", $number) && name = "also_#{name}"
  else mod.class_eval("private define_method(:#{name}) { begin; raise 'x'; rescue; tick; end }", "made.rb", $number)
  end
  [name, lives]
end

def build(parent, level)
  (1 + RANDOM.rand(3)).times do
    mod, receiver = place(parent)
    (1 + RANDOM.rand(3)).times do
      name, lives = method_in(mod)
      $alive << mod if lives
      $calls << -> { receiver.call.send(name) }
    end
    build(mod.is_a?(Class) && !mod.singleton_class? && !(mod <= Struct) ? mod : Object, level - 1) if level.positive?
  end
end

build(Object, 4)
moving = true
mover = Thread.new { (GC.compact; sleep 0.002) while moving }
session = Profiler.start
$calls.shift.call until $calls.empty?
3.times { GC.start }
profile = session.stop
moving = false
mover.join
# Only the requested stacks: a timer's tick may come anywhere.
ticks = profile.samples.select { |row| row.frames.any? { |frame| frame.method_name == "tick" } }
puts ticks.flat_map { |row| row.frames.map { |frame| [frame.name, frame.class_name, frame.method_name, frame.path].join("|") } }
            .grep(/\|made\.rb\z|random_names/).uniq.sort
profile.save(ARGV[0]) if ARGV[0]
