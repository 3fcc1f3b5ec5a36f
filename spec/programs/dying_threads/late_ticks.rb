# frozen_string_literal: true

# Profiles threads that Ruby is done with long before they end. Prints how many there were, and how many ticks came too late.
require_relative "../helpers"
require "fiddle"

libc = Fiddle.dlopen(nil)
key = Fiddle::Pointer.malloc(4)
Fiddle::Function.new(libc["pthread_key_create"], [Fiddle::TYPE_VOIDP] * 2, Fiddle::TYPE_INT).call(key, libc["usleep"])
number = key[0, 4].unpack1("I")
set = Fiddle::Function.new(libc["pthread_setspecific"], [Fiddle::TYPE_INT, Fiddle::TYPE_LONG], Fiddle::TYPE_INT)
Profiler::Testing.slow_ticks(2_000)
Profiler.start(mode: :cpu, engine: :ticker, interval: 500)
threads = 0
till = now + 3_000_000_000
while now < till
  threads += 4.times { Thread.new { set.call(number, 30_000); 3_000.times(&:to_s) } }
  sleep 0.003
  GC.start
end
Profiler.stop
print_json([threads, Profiler::Testing.late])
