# frozen_string_literal: true

# Asks for profiles without permission, for those of others and for damaged ones. Prints the answers.
require_relative "../helpers"
require_relative "profiles"

refusal = ->(app, query = "profile=last", **env) { get(app, query, **env)[1]["x-profiler-refused"] }
open = middleware
none = get(open, "profile=last")[1]
id = get(open, "profile=cpu")[1]["x-profiler-result"]
token = "a token that nobody guesses"
closed = middleware(token: token)
denied = [id, "last"].map { |it| get(closed, "profile=#{it}").drop(1) }
permitted = shows?(get(closed, "profile=last", HTTP_X_PROFILER_TOKEN: token))
FileUtils.cp("#{OUT}/#{id}", "#{OUT}/../20261122T003012.123-4711-9f86d081.pb.gz")
FileUtils.cp("#{OUT}/#{id}", "#{OUT}/plain.pb.gz")
others = ["20261122T003012.123-4711-9f86d081.pb.gz", "20261122T003012.123-4711-9f86d081./../../x",
          "../20261122T003012.123-4711-9f86d081.pb.gz", "plain.pb.gz", "#{id}%0a", "..%2f#{id}"]
others = others.map { |name| get(open, "profile=#{name}")[2] }
post = refusal[open, method: "POST"]
File.write("#{OUT}/#{id}", "not a profile")
damaged = refusal[open, "profile=#{id}"]
File.chmod(0777, OUT)
print_json(none: none, denied: denied, permitted: permitted, others: others, post: post, damaged: damaged,
           writable: refusal[open].sub(OUT, "OUT"), elsewhere: refusal[Profiler::Middleware.new(APP, out: ->(_) {})])
