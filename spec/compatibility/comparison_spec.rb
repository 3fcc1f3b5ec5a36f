# frozen_string_literal: true

require_relative "comparison"

RSpec.describe "Compatibility::Comparison" do
  include_context "with a box"

  def outcomes(test, ways: %w[time])
    item = Compatibility::Item.new(name: "suite", directory: box, framework: "minitest", arguments: [script(test, name: "suite_test.rb")])
    trial = ->(its, way) { Compatibility::Trial.new(its, way, logs: in_box("logs"), limit: 60) }
    plain = trial.call(item, Compatibility::PLAIN).run
    ways.to_h do |name|
      way = Compatibility::WAYS.fetch(name)
      ours = trial.call(item, way).run
      [name, [ours, Compatibility::Comparison.new(item, &trial).verdicts(way, plain, ours).to_h { |verdict| [verdict.test, verdict.kind] }]]
    end
  end

  let(:suite) { "require 'minitest/autorun'\nclass SuiteTest < Minitest::Test\n%s\nend\n" }

  it "reports nothing for tests with the same results" do
    ways = outcomes(format(suite, <<~RUBY), ways: %w[time objects labels])
      def test_passes = assert(true)
      def test_fails = flunk
      def test_skips = skip
    RUBY
    tests = { "SuiteTest#test_passes" => "passed", "SuiteTest#test_fails" => "failed", "SuiteTest#test_skips" => "skipped" }
    expect(ways.values.map(&:first)).to all have_attributes(tests: include(tests), main: true, messages: [])
    expect(ways.values.map(&:last)).to all eq({})
  end

  it "separates differences from tests that dislike RUBYOPT, and from flaky ones" do
    _, verdicts = outcomes(format(suite, <<~RUBY)).fetch("time")
      def test_has_no_profiler = refute(defined?(Profiler))
      def test_has_no_rubyopt = assert_nil(ENV["RUBYOPT"])
      def test_is_a_toggle
        File.exist?("there") ? File.delete("there") : File.write("there", "")
        assert File.exist?("there")
      end
    RUBY
    expect(verdicts).to eq("SuiteTest#test_has_no_profiler" => :differs, "SuiteTest#test_has_no_rubyopt" => :rubyopt,
                           "SuiteTest#test_is_a_toggle" => :flaky)
  end

  it "reports a process that crashed, and the tests that are missing" do
    ours, verdicts = outcomes(format(suite, <<~RUBY)).fetch("time")
      i_suck_and_my_tests_are_order_dependent!
      def test_a_crash = defined?(Profiler) ? Process.kill(:KILL, $$) : assert(true)
      def test_b = assert(true)
    RUBY
    expect(ours.tests).to eq("(process)" => "signal KILL")
    expect(verdicts).to eq("(process)" => :differs, "SuiteTest#test_a_crash" => :differs, "SuiteTest#test_b" => :differs)
  end
end
