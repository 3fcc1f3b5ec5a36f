# Not frozen: the lines are those of the document.
class Order
  def valid_code?(code) = code.match?(/\A(\w+-?)+\z/)
end


Thread.new { Queue.new.pop }.name = "mailer"
Profiler.label(endpoint: "orders#index") { Order.new.valid_code?("#{"a" * 44}!") }
sleep # from Ruby 3.2 on the expression ends
