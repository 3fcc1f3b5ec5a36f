# frozen_string_literal: true

# Raises at a thread that serves profiled requests, at any instant. Prints what is left in use, and how many requests were served.
#
#   timeouts.rb OPTIONS      (of the middleware, as Ruby writes keywords)
require_relative "../helpers"
require "tmpdir"

OPTIONS = eval("{ #{ARGV.fetch(0)} }")
Thread.report_on_exception = false # a thread may be hit before it has begun
Interrupted = Class.new(Exception)
Dir.mktmpdir do |directory|
  app = ->(_env) { [200, {}, [20.times.sum { |number| number.to_s.size }.to_s]] }
  middleware = Profiler::Middleware.new(app, out: directory, token: "x" * 16, rate: 1_000_000, concurrency: 4, duration: 3_600, **OPTIONS)
  env = { "REQUEST_METHOD" => "GET", "QUERY_STRING" => "profile=cpu", "HTTP_X_PROFILER_TOKEN" => "x" * 16 }
  served = 0
  work = lambda do
    loop { middleware.call(env.dup)[2].each { }; served += 1 }
  rescue Interrupted
    retry
  end
  thread = nil
  2_000.times do
    thread = Thread.new(&work) unless thread&.alive? # it may be hit between two requests
    sleep(rand * 0.004) # a request whose profile is written takes 1 to 4 ms, as the disk goes
    thread.raise(Interrupted)
  end
  thread.kill
  thread.join(20) or abort "the thread did not end"
  GC.start
  100.times { |number| number.to_s }
  wait_for { Dir.children(directory).none? { |name| name.end_with?(".tmp") } } # a native thread may still write the last one
  policy = middleware.instance_variable_get(:@policy)
  print_json(in_use: policy.instance_variable_get(:@limits).any?, open: policy.instance_variable_get(:@deadlines).size,
             sessions: Profiler::Testing.sessions, served: served)
end
