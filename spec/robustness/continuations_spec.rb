# frozen_string_literal: true

# callcc copies a stack over the one that runs: no signal may walk it meanwhile.
RSpec.describe "Continuations" do
  let(:loops) { <<~RUBY }
    def deep(level, &block) = level.zero? ? block.call : [level].each { |one| deep(one - 1, &block) }
    2_000.times do
      rounds = 20
      again = nil
      deep(30) { callcc { |here| again = here } unless again }
      rounds -= 1
      again.call if rounds.positive?
    end
  RUBY

  include_context "with a program"

  it "are sampled at safe points if they were loaded before" do
    expect(run_json(<<~RUBY, ruby_options: ["-W0"])).to match(["safepoint", be_positive])
      require "continuation"
      profile = Profiler.run(interval: 50) { #{loops} }
      print_json([profile.meta[:engine], profile.stats[:samples]])
    RUBY
  end

  it "end what sessions record if they are loaded later, which the header says" do
    expect(run_json(<<~RUBY, ruby_options: ["-W0"])).to match([be_positive, [/callcc/]])
      session = Profiler.start(interval: 50)
      burn # 60 ms
      require "continuation"
      #{loops}
      profile = session.stop
      print_json([profile.stats[:samples], profile.meta[:notes]])
    RUBY
  end
end
