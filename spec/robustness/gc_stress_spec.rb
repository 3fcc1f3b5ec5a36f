# frozen_string_literal: true

RSpec.describe "A program that collects garbage at each allocation" do
  include_context "with a program"

  # The hooks on allocation are renewed by a job that allocates, so each renewal could bring on the next one.
  it "goes on while objects are profiled" do
    program = File.expand_path("../programs/stress/heap.rb", __dir__)
    result = ruby_child(program, env: { "GC_STRESS" => "1", "THREADS" => "0", "STRESS_SECONDS" => "3" }, timeout: 120)
    expect(result.err).to match(/^OK .*"sessions":[1-9]/)
  end
end
