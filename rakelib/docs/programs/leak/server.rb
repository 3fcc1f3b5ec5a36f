# A cart that keeps what pages render.
class Cart
  def add(number) = (@items ||= []) << "item #{number} #{"of many" * 3}"
end
class Page
  def render = Array.new(40) { |number| "<li>#{number}</li>" }
end
require "profiler"
cart = Cart.new
(1..).each { |number| cart.add(number) && (number % 10).zero? && Page.new.render && (number % 100).zero? && sleep(0.002) }
