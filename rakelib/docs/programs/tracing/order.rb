# frozen_string_literal: true

# Orders of a shop, of which each third that has no note is refused. With SLOW, each thirtieth takes half a second.

require "bigdecimal"

SLOW = ENV.key?("SLOW")
MANY = Array.new(100_000, 0).freeze # a copy of it takes time without a call
SOME = MANY.first(2_000).freeze

module PG
  class Connection
    def exec_params(_sql, values) = [*MANY, *values]
  end
end

class Order
  Line = Struct.new(:price) do
    def total
      [*SOME, price]
      price.round(2)
    end
  end
  LINES = Array.new(12) { Line.new(BigDecimal("1.239")) }.freeze

  def self.find(id) = new.tap { |order| order.id = id }

  def id=(id)
    @id = id
  end

  def total = LINES.sum(&:total)

  def save(id, note = nil)
    self.id = id
    values = [total]
    rows = [*MANY, *SOME]
    connection = PG::Connection.new
    connection.exec_params("BEGIN", rows)
    connection.exec_params("UPDATE orders SET total = $1", values)
    connection.exec_params("COMMIT", rows)
    sleep 0.55 if SLOW && (id % 30).zero?
    raise IOError, "no note" if note.nil? && (id % 3).zero?

    true
  end

  def cancel = nil
  def refund = nil
end
