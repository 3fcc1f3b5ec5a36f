# frozen_string_literal: true

# Makes a child in the way WAY in the middle of a profiled request. Prints what each profile in OUT has of the parent and of the
# child.
require_relative "../helpers"

REQUEST = { "REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => "profile=cpu" }.freeze
def own = burn(80)
def childs = burn(80)
way = eval("-> { #{ENV.fetch("WAY")} }")
app = Profiler::Middleware.new(->(env) { own; way.(); own; [200, {}, [Process.pid.to_s]] }, out: ENV.fetch("OUT"))
sole = Process.pid
get = -> { app.call(REQUEST.dup) }
get.()
unless Process.pid == sole # the child serves as well, by itself
  served = get.()[0] == 200
  Process.waitall # its own child writes a file too
  exit!(served)
end
Process.waitall
get.() # nothing of the first is left
exit! unless Process.pid == sole
Process.waitall
profiles = Dir["#{ENV.fetch("OUT")}/*"].map { |file| Profiler::Profile.load(file) }
ms = ->(rows) { rows.sum(&:cpu) / 1_000_000 }
print_json(profiles.map do |profile|
  rows = samples_in(profile, "Object#childs")
  { parent: profile.meta[:pid] == sole, childs: ms.(rows), own: ms.(profile.samples) - ms.(rows) }
end)
