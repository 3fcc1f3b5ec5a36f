# frozen_string_literal: true

# Traces calls through garbage collection, redefinition, forks, a deep stack and many fibers. Prints what each trace counted.
require_relative "../helpers"
require_relative "calls"

order = Order.new
trace = calls_of("Order#save")
other = calls_of("Order#total")
GC.stress = true
20.times do |number|
  eval("class Order; def m#{number}(x) = x.to_s; end")
  order.singleton_class.class_eval { define_method(:total) { |x| Order.new.send("m#{number}", x); super(x) } }
  order.save(number)
end
GC.stress = false
3.times { GC.start; GC.compact if GC.respond_to?(:compact) }
Class.new(Order) { def total(number) = super }.new.save(1)
GC.start
child = in_fork { order.save(1); [trace.running?, counts(trace)["Order#save"]] }
first = counts(trace.stop).slice("Order#save", "Order#m3", "Order#total")
second = counts(other.stop)

class Order
  def swap(number)
    return 1 if number.zero?
    Order.class_eval("def swap(number) = number.zero? ? total(1) : swap(number - 1)")
    swap(number)
  end
end

swapped = calls_of("Order#swap") { order.swap(5) }
endless = calls_of("Order#save") do
  def order.total(number) = (@depth ||= 0; @depth += 1; total(number))
  order.save(1)
rescue SystemStackError
  0
end
fibers = Array.new(300) { Fiber.new { Order.new.tap { |it| it.define_singleton_method(:total) { |n| Fiber.yield; n } }.save(1) } }
many = calls_of("Order#save") { fibers.each(&:resume); 2.times { fibers.each(&:resume) } }
print_json([first, child, second["Order#total"], counts(swapped).slice("Order#swap", "Order#total"), swapped.to_h[:unpaired],
            endless.functions.sum(&:calls) > 1_000, counts(many).slice("Order#save"), many.to_h.values_at(:calls, :finished, :unfollowed)])
