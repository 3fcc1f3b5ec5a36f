# frozen_string_literal: true

# Runs CODE in an app for each of PERMITS, forked from a process that has loaded Rails and nothing of the profiler. Prints the value
# of each, and what it printed on stderr.
require_relative "../helpers"
require "rack/mock"
require "logger"
require "rails"
require "action_controller/railtie"

$VERBOSE = false
values = JSON.parse(ENV["PERMITS"]).map do |permit|
  out, err = %w[out err].map { |name| File.join(ENV["BOX"], name) }
  pid = fork do
    ENV["PERMIT"] = permit
    $stderr.reopen(err, "w")
    require File.expand_path("../../integrations/rails/apps/members.rb", __dir__)
    value = eval(ENV.fetch("CODE"))
    File.write(out, JSON.generate(value))
  end
  Process.wait(pid)
  [JSON.parse(File.read(out)), File.read(err)]
end
print_json(values)
