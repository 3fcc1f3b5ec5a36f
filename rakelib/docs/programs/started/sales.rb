# frozen_string_literal: true

require "time"

# The file of totals.rb: 12,000 sales of 278 days.
begun = Time.utc(2026, 1, 1)
rows = Array.new(12_000) { |number| "#{(begun + (number * 2_000)).iso8601},p#{number % 50},#{number * 7_919 % 10_000}\n" }
File.write("sales.csv", "at,product,cents\n#{rows.join}")
