# frozen_string_literal: true

# Holds objects in eighteen ways, each of a class of its own. Prints why the objects of each class are alive.
require_relative "../helpers"
require "leaky"

NAMES = %w[Constant ClassIvar ClassVariable Global FiberLocal ThreadVariable ClosureLocal Defined Singleton OtherStack Suspended
           StructMember NestedIvar HashKey Enumerated ExceptionIvar Element Registered]
NAMES.each { |name| Object.const_set("In#{name}", Class.new { def initialize = @bytes = "b" * 50_000 }) }
module App; class Cache; end; end
def apart = Thread.new { yield; nil }.join
apart { App::Cache.const_set(:KEPT, InConstant.new) }
apart { App::Cache.instance_variable_set(:@entry, InClassIvar.new) }
apart { App::Cache.class_variable_set(:@@all, InClassVariable.new) }
apart { $kept_globally = InGlobal.new }
WAITING = Thread.new { Thread.stop }
apart { WAITING[:kept] = InFiberLocal.new } # not by itself, or its stack might still hold them
apart { WAITING.thread_variable_set(:held, InThreadVariable.new) }
apart { kept = InClosureLocal.new; App.const_set(:BLOCK, proc { kept }) }
apart { kept = InDefined.new; App::Cache.define_method(:defined) { kept } }
apart { kept = InSingleton.new; App.define_singleton_method(:single) { kept } }
def hold(kept) = (Thread.stop; kept)
HOLDING = Thread.new { hold(InOtherStack.new) }
FIBER = Fiber.new { kept = InSuspended.new; Fiber.yield; kept }
FIBER.resume
Pair = Struct.new(:left, :right)
apart { App.const_set(:PAIR, Pair.new(1, InStructMember.new)) }
class Outer; def initialize(inner) = @inner = inner; end
apart { App.const_set(:OUTER, Outer.new(Outer.new(InNestedIvar.new))) }
apart { App.const_set(:BY_KEY, { InHashKey.new => 1 }) }
apart { App.const_set(:EACH, [InEnumerated.new].each.tap(&:next)) }
apart { App.const_set(:ERROR, RuntimeError.new("no").tap { |it| it.instance_variable_set(:@cause_of_it, InExceptionIvar.new) }) }
apart { App.const_set(:LIST, [0, { "a key" => { x: InElement.new } }]) }
apart { Leaky.register(InRegistered.new) }
sleep 0.01 until [WAITING, HOLDING].all? { |thread| thread.status == "sleep" }
print_json(NAMES.to_h { |name| [name, Profiler.memory(why: "In#{name}").why] })
