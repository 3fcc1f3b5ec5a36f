# frozen_string_literal: true

# Law 1 for a single request: its profile has its own stacks, and its times are its own clocks.
RSpec.describe "Time of a session with a scope, and of a slice," do
  runs = Integer(ENV.fetch("PROPERTY_RUNS", "6"))
  modes = ["cpu", "cpu,wall", "wall"]

  Array.new(runs) { Kernel.rand(1_000_000) }.each_with_index do |seed, run|
    mode = modes[run % modes.size]

    slices = (run / modes.size).odd? ? "1" : nil
    it "is that of its request in the random program #{seed}, mode #{mode}#{", with slices" if slices}", :timed do
      result = ruby_child("spec/programs/labels/random_scopes.rb", timeout: 120, env: { "SEED" => seed.to_s, "MODE" => mode, "SLICES" => slices })
      expect(result.status).to be_success, result.err
    end
  end
end

RSpec.describe "A session with a scope" do
  include_context "with a program"

  it "uses up no label sets, and keeps no markers of others" do
    expect(run_json(<<~RUBY)).to eq(notes: [], markers: [["mine"]] * 6)
      whole = Profiler.start
      profiles = Array.new(6_000) do |number|
        scope = Profiler.const_get(:Labels).new_scope
        session = Profiler::Session.begin({ threads: :current }, scope: scope) if number % 1_000 == 999
        Profiler.marker("of nobody")
        before = Profiler.const_get(:Labels).current
        Profiler.const_get(:Labels).enter_scope(before, scope)
        Profiler.label(endpoint: "users#show") { Profiler.marker("mine") }
        Profiler.const_get(:Labels).leave(before)
        Profiler.marker("of nobody")
        session&.stop
      end
      print_json(notes: whole.stop.meta[:notes].grep(/sets of labels/), markers: profiles.compact.map { |it| it.markers.map(&:name) })
    RUBY
  end
end
