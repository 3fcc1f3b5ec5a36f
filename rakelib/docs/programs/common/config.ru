# frozen_string_literal: true

require "profiler"
use Profiler::Middleware, token: ENV["PROFILER_TOKEN"]
run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello\n"]] }
