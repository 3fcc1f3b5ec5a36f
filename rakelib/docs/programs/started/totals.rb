require "csv"
require "time"

Sale = Struct.new(:day, :product, :cents)

def sales(path)
  CSV.foreach(path, headers: true).map { |row| Sale.new(Time.parse(row["at"]).to_date, row["product"], row["cents"].to_i) }
end

def totals(sales)
  days = sales.map(&:day).uniq.sort
  days.to_h { |day| [day, sales.select { |sale| sale.day == day }.sum(&:cents)] }
end

totals(sales("sales.csv")).each { |day, cents| puts "#{day} #{cents / 100}" }
