# frozen_string_literal: true

# Figures with an interval. Nothing is assumed of how the noise is distributed: on a shared machine it has long tails.
module Bench
  # A value and the ends of its 95 % interval. It is not `solid` with too few rounds, or with noise larger than the effect.
  Figure = Struct.new(:value, :low, :high, :solid) do
    def text(digits)
      format("%.#{digits}f [%.#{digits}f, %.#{digits}f]", value, low, high)
    end

    def verdict(limit)
      return "lost in the noise" unless solid
      return "open: #{limit} is in the interval" if low <= limit && limit < high

      high <= limit ? "met" : "MISSED"
    end
  end

  module Stats
    RESAMPLES = 1_000
    TRIMMED = 0.2 # of each end
    ENOUGH = 20   # rounds, for the interval to be one

    module_function

    def median(values)
      sorted = values.sort
      (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0
    end

    def trimmed_mean(values)
      cut = (values.size * TRIMMED).floor
      kept = values.sort[cut...(values.size - cut)]
      kept.sum.fdiv(kept.size)
    end

    # The block's value of all items, and its interval when items are resampled (bootstrap, fixed seed).
    def figure(items, random = Random.new(1))
      drawn = Array.new(RESAMPLES) { yield Array.new(items.size) { items[random.rand(items.size)] } }
      real = drawn.select(&:finite?).sort
      return Figure.new(Float::NAN, Float::NAN, Float::NAN, false) if real.empty?

      solid = items.size >= ENOUGH && real.size >= 0.975 * RESAMPLES
      Figure.new(yield(items), real[(real.size * 0.025).floor], real[(real.size * 0.975).ceil - 1], solid)
    end

    # The cost of each sample of an arm, seconds: the CPU that the arm adds to the "off" slice of its own block.
    def cost(blocks, arm)
      extra = trimmed_mean(blocks.map { |block| block[arm]["cpu"] - block["off"]["cpu"] })
      extra / mean(blocks, arm, "samples")
    end

    # Our cost as a multiple of the floor's; NaN where the floor's is not above zero.
    def ratio(blocks)
      floor = cost(blocks, "floor")
      floor.positive? ? cost(blocks, "ours") / floor : Float::NAN
    end

    def mean(blocks, arm, key)
      blocks.sum { |block| block[arm][key] }.fdiv(blocks.size)
    end

    # The nanoseconds of a tick or sample: the median slice, as a slice that was preempted says nothing of the code.
    def each_ns(blocks, arm, key, per)
      rates = blocks.map { |block| block[arm][key].fdiv(block[arm][per]) }.select(&:finite?)
      rates.empty? ? Float::NAN : median(rates)
    end

    # The distance of two ways to divide a whole into the same parts, 0 to 1 (the total-variation distance).
    def distance(one, other)
      one.sum { |part, share| (share - other[part]).abs } / 2
    end

    # The mean distance of `number` independent samples from these shares.
    def chance(shares, number)
      return Float::NAN if number.zero?

      shares.values.select { |share| share.positive? && share < 1 }.sum { |share| deviation(share, number) } / 2
    end

    # The mean error of each share in `number` independent samples, as a part of the share, and the mean of these.
    def chance_of_each(shares, number)
      return Float::NAN if number.zero? || shares.empty?

      shares.sum { |share| share < 1 ? deviation(share, number) / share : 0.0 } / shares.size
    end

    # The mean deviation of a share in `number` independent samples. It is exact: the count is binomial (de Moivre).
    def deviation(share, number)
      above = (number * share).floor + 1
      ways = Math.lgamma(number + 1).first - Math.lgamma(above + 1).first - Math.lgamma(number - above + 1).first
      2 * above * Math.exp(ways + (above * Math.log(share)) + ((number - above + 1) * Math.log(1 - share))) / number
    end
  end
end
