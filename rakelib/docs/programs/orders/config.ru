# frozen_string_literal: true

# An app with slow orders.

require "profiler"

use Profiler::Middleware, token: ENV["TOKEN"], out: "log/profiles"
run(lambda do |_env|
  sleep 0.02
  [200, { "content-type" => "text/plain" }, ["hello\n"]]
end)
