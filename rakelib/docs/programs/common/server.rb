# frozen_string_literal: true

# A server without clients, which works now and then until it is ended.
require "profiler"

Profiler.label(endpoint: "orders#index") { loop { Array.new(1_000, &:to_s) && sleep(0.01) } }
