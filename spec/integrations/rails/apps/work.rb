# frozen_string_literal: true

# Work of an app: uses CPU time in a method that its profiles are searched for.
class Work
  # CPU time so far, in milliseconds: how often Rails asks a body for its parts is its own business.
  class << self
    attr_accessor :used
  end
  self.used = 0

  def self.burn(milliseconds = 50)
    before = clock
    10.times { |number| number + 1 } while clock < before + milliseconds
    self.used += clock - before
    nil
  end

  def self.clock
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond)
  end
end
