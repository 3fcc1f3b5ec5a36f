# frozen_string_literal: true

# Counts objects after Ractors have ended, when some Rubies report objects no more. Prints what each count returned or raised.
require_relative "../helpers"
require "minitest"
require "profiler/minitest"

def ended_ractor = (r = Ractor.new { 7 }; r.respond_to?(:value) ? r.value : r.take; nil)
def counted = Profiler.allocations_of { 3.times { GC.start }; 500.times { Object.new } }.objects
test = Object.new.extend(Minitest::Assertions)
test.singleton_class.attr_accessor(:assertions)
test.assertions = 0
counts = Array.new(4) do
  ended_ractor
  sleep 0.01 until Ractor.count == 1
  begin
    counted
  rescue Profiler::Error => e
    e.message[0, 40]
  end
end
ended_ractor
sleep 0.01 until Ractor.count == 1
passes = begin
  test.assert_allocates_at_most(10) { 3.times { GC.start }; 500.times { Object.new } }
  true
rescue Minitest::Assertion, Profiler::Error
  false
end
print_json([counts, passes, counted])
