class Csv
  def rows(text) = text.lines.map { |line| line.split(",").map { |field| field.strip.capitalize.strip } }
end
Csv.new.rows("name , 7 , price , 9\n" * 40_000)
