# frozen_string_literal: true

require "json"
require_relative "../../bench/families"

# Law 1, method by method: programs that call many methods for random times and keep the times of each (bench/families.rb).
# `rake bench:accuracy` measures the same for longer.
RSpec.describe "The time of each method" do
  def measured_only = (skip "before Ruby 3.3 waits are sampled, and nothing tells that a thread is blocked" if RUBY_VERSION < "3.3")

  # The errors of the methods by mode, that of as many independent samples, and a text for failures.
  def errors(family, modes, interval, busy: false)
    order = ["families", family, modes, interval, Kernel.rand(1 << 30), 3, busy]
    result = ruby_child("bench/child.rb", JSON.generate(order), timeout: 120)
    raise result.err unless result.status.success?

    run = JSON.parse(result.out)
    run["methods"].to_h do |mode, methods|
      found, chance = Bench::Families.errors(methods, run["samples"], shares: family == "calls")
      [mode, [found, chance, "#{family}, #{mode} of #{modes}: #{found} of #{methods}", methods]]
    end
  end

  # A wait and a block have their own times. But a tick of code that runs around them is as heavy as the interval, and there may be some. A
  # block that is no longer than the time between two looks can be missed, and another one gets its time.
  def expect_measured(found, methods, limit, interval, text)
    expect(found.values.sum / found.size).to be <= limit, text
    others = methods.slice(*found.keys).values
    expect(others).to all(satisfy { |own, seen| (own - seen).abs <= (own * limit) + [3_000 * interval, 7_000_000].max }), text
  end

  measured = RUBY_VERSION >= "3.3"
  # Where waits are seen by interrupting them, the ticks of a wall clock come late, some to one method and some to the next.
  sessions = measured ? [["cpu", 1_000], ["cpu", 10_000], ["wall", 1_000], ["wall", 10_000], ["cpu,wall", 1_000]] : [["cpu", 1_000], ["cpu", 10_000]]

  sessions.each do |modes, interval|
    it "is as exact as random samples while code runs, mode #{modes}, interval #{interval}", :timed do
      # Calls are ten methods, so their mean error is itself a matter of chance.
      { "ruby" => 1.2, "c" => 1.2, "calls" => 2 }.each do |family, limit|
        errors(family, modes, interval).each_value do |found, chance, text|
          expect(found.values.sum / found.size).to be <= limit * chance, text
        end
      end
    end
  end

  [["wall", 1_000, 0.01], ["wall", 10_000, 0.02], ["cpu,wall", 1_000, 0.01], ["cpu,wall", 10_000, 0.02]].each do |modes, interval, limit|
    [false, true].each do |busy|
      it "is right while they wait or are blocked, mode #{modes}, interval #{interval}#{", beside busy loops" if busy}", :timed do
        measured_only
        %w[waiting blocked].each do |family|
          found, _chance, text, methods = errors(family, modes, interval, busy: busy).fetch("wall")
          expect_measured(found, methods, limit, interval, text)
        end
      end
    end
  end

  it "is right, part by part, when methods compute, wait and are blocked in turns", :timed do
    measured_only
    errors("mixed", "cpu,wall", 1_000).each do |mode, (found, chance, text, methods)|
      running, others = found.partition { |name, _error| name.include?("compute") }.map(&:to_h)
      expect(running.values.sum / running.size).to be <= 1.2 * chance, text
      expect_measured(others, methods, 0.01, 1_000, text) if mode == "wall"
    end
  end
end
