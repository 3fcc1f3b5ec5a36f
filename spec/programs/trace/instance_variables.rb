# frozen_string_literal: true

# Traces calls with the instance variables of what they are called on. Prints the lines of the log, and what names that are not
# allowed raise.
require_relative "../helpers"
require_relative "log"

class Order
  def initialize(state) = @state = state
  def close(state) = @state = state
  def fail_with(state) = (@state = state; raise IOError)
  def self.tally(total) = @total = total
  attr_writer :other
  def other = abort("called")
  def instance_variable_get(*) = abort("called")
  alias instance_variable_defined? instance_variable_get
  def self.const_missing(name) = abort("called #{name}")
end

class Hostile
  def initialize(state) = @state = state
  def work = nil
end

class Integer; def thing = self; end
class Struct; def thing = self; end
closed = Order.new("new")
closed.other = Hostile.new(1)
all = lines("Order#close", show: %w[@state @other @gone @état]) { closed.close(Liar.new("done")) }
all += lines("Order#fail_with", show: [:@state], args: true) { closed.fail_with({ password: "hidden", a: ["x" * 100, 2] }) rescue nil }
all += lines("Order.tally", show: %w[@total result]) { Order.tally(7) }
all += lines("Hostile#work", show: %w[@state]) { Hostile.new(:ready).work }
all += lines("Integer#thing", show: %w[@state]) { 1.thing; (1 << 80).thing }
all += lines("Struct#thing", show: %w[@state]) { Struct.new(:state).new(1).thing.freeze.thing }
all += lines("Order#close", show: %w[@state], when: "@state == 2 and @gone == nil and not @gone") { closed.close(1); closed.close(2) }
wrong = %W[@password @api_key @@count @ @1 $stdout a-b @a.b \xFF]
errors = wrong.map { |name| error { Profiler.trace("Order#close", show: [name]) { 1 } } }
errors << error { Profiler.trace("Order#*", show: ["@"]) { 1 } }
print_json([all, errors << ObjectSpace.each_object(TracePoint).count(&:enabled?)])
