# frozen_string_literal: true

RSpec.describe "Profiler on an unsupported Ruby" do
  it "loads, and says why it is unsupported" do
    result = ruby_child("-r./spec/programs/other_engine.rb", "-e", <<~RUBY)
      require "profiler"
      p Profiler.supported?, Profiler.running?
      puts Profiler.unsupported_reason
      begin; Profiler.run { }; rescue Profiler::Unsupported => e; puts e.message == Profiler.unsupported_reason; end
    RUBY
    expect(result.out).to match(/\Afalse\nfalse\n.*is not CRuby.*\ntrue\n\z/), result.err
  end
end
