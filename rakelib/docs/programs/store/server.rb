# frozen_string_literal: true

# A server that keeps sessions at two places.

require "profiler"

class Session
  def initialize = @data = "7" * 20_000
end

class Store
  @all = Array.new(500) { |number| ["k#{number}", Session.new] }.to_h
end

OTHERS = Array.new(20) { Session.new }
loop { sleep 0.1 }
