# frozen_string_literal: true

RSpec.describe "Shop" do
  it("waits for the bank") { sleep 0.2 }
  it("sorts prices") { Array.new(30_000) { |number| -number }.sort }
  it("starts") { Object.new }
end
