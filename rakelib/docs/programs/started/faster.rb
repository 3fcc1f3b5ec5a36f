require "csv"
require "time"

Sale = Struct.new(:day, :product, :cents)

def sales(path)
  CSV.foreach(path, headers: true).map { |row| Sale.new(Time.parse(row["at"]).to_date, row["product"], row["cents"].to_i) }
end

def totals(sales) = sales.group_by(&:day).sort.to_h { |day, those| [day, those.sum(&:cents)] }

totals(sales("sales.csv")).each { |day, cents| puts "#{day} #{cents / 100}" }
