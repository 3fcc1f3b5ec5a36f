# frozen_string_literal: true

# Computes for a while, in a process that says its pid.
class Order
  def save(number) = number.to_s * 3
end

File.write("app.pid", Process.pid)
till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Float(ENV.fetch("APP_SECONDS", "0.3"))
1_000.times { |number| Order.new.save(number) } while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
