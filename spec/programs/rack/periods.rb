# frozen_string_literal: true

# Serves requests in three periods of a session, of which one request begins in one and ends in the next. Prints the numbers of each
# period, and of a merge of their files in BOX.
require_relative "../helpers"
require_relative "requests"

app = middleware
session = Profiler.start
profiles = []
get(app, "/a")
arrived = Queue.new
may_end = Queue.new
waits = middleware(->(_env) { arrived << true; may_end.pop; [200, {}, ["x"]] })
slow = Thread.new { get(waits, "/slow") }
arrived.pop
profiles << session.snapshot << session.rotate
get(app, "/a")
get(app, "/b")
may_end << true
slow.join
profiles << session.rotate << session.stop
files = profiles[1..].each_with_index.map { |it, place| it.save("#{ENV.fetch("BOX")}/#{place}.pb.gz") }
merged = Profiler::Profile.merge(*files.map { |it| Profiler::Profile.load(it) })
print_json([profiles.map { |it| requests(it).transform_values(&:first) }, requests(merged).transform_values(&:first),
            profiles[1..].map { |it| it.report(by: "endpoint").include?("LARGEST") rescue nil }])
