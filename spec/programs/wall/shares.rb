# frozen_string_literal: true

# Times and shares of samples by a wall clock. Needs the helpers.
def wall(samples) = samples.sum(&:wall)
def of_state(profile, state) = profile.samples.select { |sample| sample.state == state }

# Returns the share of the time in a method.
def share(samples, name)
  wall(samples).zero? ? 0 : wall(samples.select { |sample| sample.frames.any? { |frame| frame.name == name } }).fdiv(wall(samples))
end
