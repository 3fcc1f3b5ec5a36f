# frozen_string_literal: true

RSpec.describe "Profiler on an unsupported Ruby" do
  include_context "with a program"

  it "loads, and says why it is unsupported" do
    output = run_json(<<~RUBY, ruby_options: ["-r./spec/programs/other_engine.rb"], err: be_a(String))
      print_json(supported: Profiler.supported?, running: Profiler.running?, reason: Profiler.unsupported_reason, error: error { Profiler.run { } })
    RUBY
    expect(output).to match(supported: false, running: false, reason: /is not CRuby/, error: "Profiler::Unsupported: #{output[:reason]}")
  end
end
