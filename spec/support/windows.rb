# frozen_string_literal: true

# A program with a continuous session of short periods, whose profiles are kept in WINDOWS.
RSpec.shared_context "with windows" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    WINDOWS = []
    def continue(**options)
      Profiler.continuous(period: 0.1, **options) { |profile| WINDOWS << profile }
    end
    # CPU time in a method. Before Ruby 3.3 a GC does not stand under its cause.
    def in_windows(method) = WINDOWS.sum { |profile| samples_in(profile, /#{method}|\(garbage collection\)/).sum(&:cpu) }
  RUBY
end
