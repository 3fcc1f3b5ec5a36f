# frozen_string_literal: true

RSpec.describe "Import" do
  it("imports", :profile) { sleep 0.1 }
  it("parses", profile: { mode: %i[cpu allocations], interval: 200 }) { "a,b".split(",") }
end
