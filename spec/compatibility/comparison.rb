# frozen_string_literal: true

require_relative "trial"

module Compatibility
  # Separates tests whose result changes under the profiler from flaky ones.
  class Comparison
    AGAIN = 3

    # kind is :flaky (the runs without the profiler differ), :once (the difference did not recur), :rubyopt (the test also differs
    # with an empty file in RUBYOPT) or :differs.
    Verdict = Struct.new(:item, :test, :way, :plain, :ours, :kind, keyword_init: true) do
      def to_s
        "#{kind} #{way} #{item} #{test}: plain #{plain.join(",")}; with us #{ours.join(",")}"
      end
    end

    # @yieldparam item [Item]
    # @yieldparam way [Way]
    # @yieldreturn [Trial]
    def initialize(item, &trial)
      @item = item
      @trial = trial
    end

    # @param plain [Outcome]
    # @param ours [Outcome]
    # @return [Array<Verdict>] of the tests that differ
    def verdicts(way, plain, ours)
      return [] if differing(plain, ours).empty?

      # In the reverse order: otherwise a result that changes with every run would look like the profiler's doing.
      ours_again = trial(way).run
      runs = [[plain, trial(PLAIN).run], [ours, ours_again]]
      tests = differing(*runs.first) | differing(*runs.last) | differing(plain, ours) | differing(runs.first.last, runs.last.last)
      seen = tests.to_h { |test| [test, runs.map { |outcomes| outcomes.map { |outcome| status(outcome, test) } }] }
      again(way, seen.reject { |_test, (plains, withs)| steady?(plains, withs) })
      control = nil
      seen.map do |test, (plains, withs)|
        kind = kind(test, plains, withs) { status(control ||= trial(CONTROL).run(only: only(tests)), test) }
        Verdict.new(item: @item.name, test: test, way: way.name, plain: plains, ours: withs, kind: kind)
      end
    end

    private

    def trial(way)
      @trial.call(@item, way)
    end

    def status(outcome, test)
      outcome.tests.fetch(test, "missing")
    end

    def differing(one, other)
      (one.tests.keys | other.tests.keys).reject { |test| status(one, test) == status(other, test) }
    end

    # Runs by themselves the tests that are not the same each time.
    def again(way, unsteady)
      return if unsteady.empty?

      AGAIN.times do
        outcomes = [PLAIN, way].map { |item| trial(item).run(only: only(unsteady.keys)) }
        unsteady.each { |test, seen| seen.zip(outcomes) { |statuses, outcome| statuses << status(outcome, test) } }
      end
    end

    # The fate of the process may be due to any test.
    def only(tests)
      tests unless tests.include?(Trial::PROCESS)
    end

    def steady?(plain, ours)
      plain.uniq.one? && ours.uniq.one? && plain.first != ours.first
    end

    # Some tests skip themselves where they take long.
    def skips_at_times?(plain, ours)
      ours.uniq.size > 1 && ((plain | ours) - %w[passed skipped]).empty?
    end

    # A process that crashed or hung with us has no excuse.
    def kind(test, plain, ours)
      return :flaky if plain.uniq.size > 1 || skips_at_times?(plain, ours)
      return :once if test != Trial::PROCESS && ours.size > 2 && ours.count { |status| status != plain.first } == 1

      yield == plain.first ? :differs : :rubyopt
    end
  end
end
