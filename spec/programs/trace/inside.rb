# frozen_string_literal: true

# A method that calls methods of all kinds, each of which counts its calls and the runs of its blocks by itself, and is traced with
# all that runs inside. Prints both, on several threads and fibers at once.
require "json"
require "profiler"

CALLS = Hash.new(0)
BLOCKS = Hash.new(0)

module Helper
  def helped(number)
    CALLS["Helper#helped"] += 1
    number
  end
end

class Shop
  include Helper

  def run(rounds)
    CALLS["Shop#run"] += 1
    rounds.times do |number|
      BLOCKS["Shop#run"] += 1
      plain(number)
      recursive(5)
      yielding { BLOCKS["Shop#run"] += 1 }
      raising(number) rescue nil # rubocop:disable Style/RescueModifier -- the point
      catch(:done) { (BLOCKS["Shop#run"] += 1) && throwing }
      switching
      defined(number)
      send(:"dynamic #{number % 3}")
      aliased(number)
      helped(number)
      breaking
      Shop.of_class
      native(number)
      CALLS["BasicObject#=="] += 1
      BasicObject.instance_method(:==).bind_call(self, number)
    end
    run(rounds - 1) if rounds > 18
    :done
  end

  def plain(number)
    CALLS["Shop#plain"] += 1
    number.to_s
  end

  def recursive(depth)
    CALLS["Shop#recursive"] += 1
    depth.zero? ? mutual(2) : recursive(depth - 1)
  end

  def mutual(depth)
    CALLS["Shop#mutual"] += 1
    depth.zero? ? 0 : other(depth)
  end

  def other(depth)
    CALLS["Shop#other"] += 1
    mutual(depth - 1)
  end

  def yielding
    CALLS["Shop#yielding"] += 1
    3.times do
      BLOCKS["Shop#yielding"] += 1
      yield
    end
  end

  def raising(number)
    CALLS["Shop#raising"] += 1
    number.odd? ? raised(number) : number
  end

  def raised(number)
    CALLS["Shop#raised"] += 1
    [1].each { (BLOCKS["Shop#raised"] += 1) && raise(ArgumentError, "odd") }
    number
  ensure
    CALLS["Shop#ensured"] += 1
    ensured
  end

  def ensured = nil

  def throwing
    CALLS["Shop#throwing"] += 1
    throw :done
  end

  # The fiber of the traced call does not see what its fiber does, and is switched away in the middle.
  def switching
    CALLS["Shop#switching"] += 1
    fiber = Fiber.new do
      inner
      Fiber.yield
      inner
    end
    2.times { (BLOCKS["Shop#switching"] += 1) && fiber.resume }
  end

  def inner = nil

  define_method(:defined) do |number|
    CALLS["Shop#defined"] += 1
    BLOCKS["Shop#defined"] += 1
    [number].each { BLOCKS["Shop#defined"] += 1 }
  end

  3.times do |number|
    define_method("dynamic #{number}") do
      CALLS["Shop#dynamic #{number}"] += 1
      BLOCKS["Shop#dynamic #{number}"] += 1
    end
  end

  def original(number)
    CALLS["Shop#original"] += 1
    number
  end
  alias aliased original

  def breaking
    CALLS["Shop#breaking"] += 1
    [1, 2].each do
      BLOCKS["Shop#breaking"] += 1
      break
    end
    proc { next }.then { |block| (BLOCKS["Shop#breaking"] += 2) && block.call }
  end

  def self.of_class
    CALLS["Shop.of_class"] += 1
    nil
  end

  def native(number)
    CALLS["Shop#native"] += 1
    CALLS["Array#rotate"] += 1
    [number].rotate
  end
end

def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

shop = Shop.new
shop.run(5) # fills caches
[CALLS, BLOCKS].each(&:clear)
shop.plain(1) # not inside
CALLS.clear
took = nil
trace = Profiler.trace("Shop#run", max_overhead: 1, calls: true) do
  began = clock
  shop.run(20)
  Thread.new { 2.times { shop.run(10) } }.join
  fibers = Array.new(3) { Fiber.new { shop.run(4) } }
  fibers.each(&:resume)
  took = clock - began
  shop.plain(1)
  CALLS["Shop#plain"] -= 1
end
shop.plain(1)
CALLS["Shop#plain"] -= 1
puts JSON.generate(calls: CALLS, blocks: BLOCKS, trace: trace.to_h, took: took, text: trace.to_s)
