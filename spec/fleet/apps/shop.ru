# frozen_string_literal: true

# A shop whose processes send their windows to COLLECTOR, and write them into OUT as well. Each tells its account at its end: what
# Profiler.metrics said after a flush, and what its sinks have counted after the last window.
require "json"
require "profiler"

def account(name, content) = File.write(File.join(ENV.fetch("OUT"), "#{Process.pid}.#{name}.json"), JSON.generate(content))

SINK = Profiler::Otlp.new(ENV.fetch("COLLECTOR"), service: "shop")
written = 0
file = lambda do |profile|
  profile.save(File.join(ENV.fetch("OUT"), "#{Process.pid}-#{written += 1}.pb.gz"))
end
at_exit { account("end", SINK.counts) } # after that of the session, which sends the last window
SESSION = Profiler.continuous(to: [SINK, file], period: Float(ENV.fetch("PERIOD")), mode: Profiler.const_get(:Platform)::TIME_MODES + [:allocations],
                               max_overhead: nil) # or some windows would have no objects
at_exit { account("metrics", SESSION.flush && Profiler.metrics.transform_values { |it| it.is_a?(Hash) ? it.map { |labels, number| [labels, number] } : it }) }

# Its work differs from page to page, and so do its methods.
class Shop
  def call(env)
    case env["PATH_INFO"]
    when %r{\A/orders/} then show(200)
    when %r{\A/search/} then search(20)
    when "/cart" then cart
    end
    [200, { "content-type" => "text/plain" }, ["ok\n"]]
  end

  def show(lines) = Array.new(lines) { |number| "line #{number}" }.sort_by(&:hash).join("\n")

  def search(rounds) = rounds.times.sum { |number| (number..number + 200).sum { |it| it % 7 } }

  def cart = sleep(0.001)
end

use Profiler::Middleware
run Shop.new
