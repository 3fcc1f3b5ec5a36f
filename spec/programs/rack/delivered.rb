# frozen_string_literal: true

# Ends permit: by a kill, exceptions, a Timeout, an exit and an interrupt. Prints what came out of each request.
require_relative "../helpers"
require_relative "guarded"
require "timeout"

Stop = Class.new(Exception)
during = ->(&work) { middleware(permit: ->(env) { work.call; true }) }
inside = Queue.new
waiting = -> { during.call { inside << true; sleep 0.2 } }
ended = lambda do |app = waiting.call, &deliver|
  thread = Thread.new { get(app); :returned }
  thread.report_on_exception = false
  inside.pop
  deliver.call(thread)
  thread.value
rescue Exception => e
  e.class.name
end
passed = [ended.call(&:kill), ended.call { |it| it.raise(Stop) }, ended.call { |it| it.raise(IOError) }]
passed << begin
  Timeout.timeout(0.05) { get(waiting.call) }
rescue Timeout::Error
  "timed out"
end
passed += [-> { exit }, -> { raise Interrupt }].map do |work|
  get(during.call(&work))
rescue SystemExit, Interrupt => e
  e.class.name
end
print_json(passed)
