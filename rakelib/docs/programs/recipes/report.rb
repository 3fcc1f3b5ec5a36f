class Bank
  def rates
    File.open("rates") { |file| file.read }
  end
end
class Report
  def prices
    (1..2_000_000).each_slice(2).map { |low, high| (low * high).to_s }
  end
end
Bank.new.rates
Report.new.prices
