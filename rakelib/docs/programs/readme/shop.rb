require "csv"

# As long as it reads the prices, it keeps all of them.
class Report
  def totals(text)
    CSV.parse(text).group_by(&:last).transform_values(&:size)
  end
end
class Rates
  def fetch = IO.popen(["sleep", "0.6"]).read
end

rows = Array.new(90_000) { |number| %("product, #{number}","#{number % 997}","the ""#{number}""","#{number % 7}"\n) }.join
Report.new.totals(rows)
Rates.new.fetch
