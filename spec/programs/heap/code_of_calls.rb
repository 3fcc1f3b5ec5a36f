# frozen_string_literal: true

# Makes code in each call, in ways that leak nothing and in one that does. Prints how many objects Profiler.leaks and the growth
# of a session have for each way.
require_relative "../helpers"
require "erb"

KEPT = []
class Real; end
TEMPLATE = ERB.new("<%= [1, 2].map { |it| it.to_s } %>")
ways = {
  singleton_method: -> { o = Object.new; def o.items = [1, 2]; o.items },
  anonymous_class: -> { Class.new { def items = [[], {}] }.new.items },
  struct: -> { Struct.new(:a) { def items = [a, a.dup] }.new("x").items },
  module: -> { Object.new.extend(Module.new { def items = ["a".dup] }).items },
  erb: -> { TEMPLATE.result_with_hash(x: 1) },
  leak: -> { KEPT << Real.new; o = Object.new; def o.items = [1, 2]; o.items }
}
leaks = ways.transform_values { |way| Profiler.leaks(rounds: 5) { 20.times { way.call } } }
growth = ways.slice(:singleton_method, :leak).transform_values do |way|
  session = Profiler.start(mode: :heap, every: 1)
  20.times { way.call }
  before = session.snapshot
  60.times { way.call }
  session.stop.growth(before)
end
others = [leaks, growth].map do |found|
  found.transform_values { |all| all.reject { |row| row.class_name == "Real" || row.class_name.start_with?("(internal") }.sum(&:objects) }
end
print_json([*others, leaks[:leak].find { |row| row.class_name == "Real" }&.objects])
