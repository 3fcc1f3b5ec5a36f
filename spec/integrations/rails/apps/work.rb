# frozen_string_literal: true

# Work of an app: uses CPU time in a method that its profiles are searched for.
class Work
  # Milliseconds so far: how often Rails asks a body for its parts is its own business.
  class << self
    attr_accessor :used
  end
  self.used = 0

  def self.burn(milliseconds = 15)
    self.used += milliseconds
    till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) + milliseconds
    10.times { |number| number + 1 } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) < till
  end
end
