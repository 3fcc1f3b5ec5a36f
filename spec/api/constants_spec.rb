# frozen_string_literal: true

RSpec.describe "Profiler.constants" do
  include_context "with a program"

  it "are those for users, also after all files that live as long as the process were loaded" do
    named = <<~'RUBY'
      require "profiler/cli" # as the command does
      before = Profiler.constants - %i[CLI]
      Profiler.const_get(:Eager).load(Profiler::Middleware, Profiler::Pprof)
      print_json([before.sort - [:Testing], Profiler.constants - before - %i[CLI], Profiler::CLI.name])
    RUBY
    expect(run_json(named)).to eq([%w[Allocations AlreadyRunning Continuous Control Directory Error Flight FormatError Frame Growth HOME Ledger Marker
                                      MemoryLog MethodTrace Middleware NotRunning Otlp Pprof Profile Pyroscope Sample Session TimelineEvent Unsupported VERSION], [], "Profiler::CLI"])
  end
end
