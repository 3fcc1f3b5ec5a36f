# frozen_string_literal: true

# To make an exception calls Ruby, where the end of a thread can arrive.
RSpec.describe "A thread that is killed while something is refused" do
  include_context "with a program"

  it "ends, and the process goes on" do
    expect(program_json("refusals/killed")).to eq(killed: true, alive: 0)
  end
end
