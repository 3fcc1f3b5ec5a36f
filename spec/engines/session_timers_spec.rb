# frozen_string_literal: true

RSpec.describe "A stopped session" do
  include_context "with a program"

  it "ends its thread's timer, if other threads are profiled too" do
    skip "the engine is given" if ENV["SPEC_ENGINE"]
    skip "the kernel does not list timers" unless File.exist?("/proc/self/timers")
    requests, alone, paused = program_json("engines/session_timers")
    profile = [true, be > 3]
    expect([*requests, alone]).to match([*[[1, *profile]] * 3, [0, *profile]])
    expect(paused).to eq(0)
  end
end
