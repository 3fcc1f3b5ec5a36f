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

  def run(code)
    result = ruby_child("-W0", "-e", "require 'profiler'\n#{code}")
    expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 2_000]}"
    result.out
  end

  it "are sampled at safe points where they are loaded before" do
    expect(run(<<~RUBY)).to eq("[\"safepoint\", true]\n")
      require "continuation"
      profile = Profiler.run(interval: 50) { #{loops} }
      p [profile.meta[:engine], profile.stats[:samples].positive?]
    RUBY
  end

  it "end what sessions record where they are loaded later, which the header says" do
    expect(run(<<~RUBY)).to eq("true\ntrue\n")
      session = Profiler.start(interval: 50)
      50_000.times { |number| number.to_s }
      require "continuation"
      #{loops}
      profile = session.stop
      p profile.stats[:samples].positive?
      p profile.meta[:notes].grep(/callcc/).one?
    RUBY
  end
end
