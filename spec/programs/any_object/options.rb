# frozen_string_literal: true

# Gives a hostile value to every option of every entry point. Prints what is neither taken nor refused with a short ArgumentError.
require_relative "../helpers"
require_relative "hostile"

profile = Profiler.run(timeline: true) { Profiler.marker("x") { burn } }
app = ->(_env) { [200, {}, []] }
found = []
run = %i[mode interval frequency max_overhead every threads labels static_labels depth engine gc timeline trim_path name metadata]
run.each do |option|
  found.concat(wrong("run #{option}") { |value| Profiler.run(option => value) { } })
end
found.concat(wrong("run format") { |value| Profiler.run(out: "x.svg", format: value) { } })
found.concat(wrong("run out") { |value| Profiler.run(out: value) { } })
found.concat(wrong("run metadata value") do |value|
  Profiler.run(metadata: { a: value }) { } if BasicObject === value && !(Object === value)
end)
every = %i[mode interval frequency every every_bytes threads labels static_labels depth engine gc ignore_gc timeline raw fibers spans
           trim_path name metadata]
(every + %i[out format keep to period max_overhead]).each do |option|
  found.concat(wrong("continuous #{option}") { |value| Profiler.continuous(**{ out: "d" }, option => value).stop })
end
(every + %i[out format keep minutes memory at signal slower_than gc_above gvl_above max_overhead]).each do |option|
  found.concat(wrong("flight #{option}") { |value| Profiler.flight_recorder(**{ out: "d" }, option => value).stop })
end
%i[permit token parameter route mode interval sample_rate slower_than out format keep concurrency rate duration].each do |option|
  found.concat(wrong("middleware #{option}") { |value| Profiler::Middleware.new(app, option => value) })
end
%i[permit mode out].each { |option| found.concat(wrong("sidekiq #{option}") { |value| Profiler::Sidekiq.with(option => value) }) }
%i[at permit token concurrency frequency most_seconds dimensions].each do |option|
  found.concat(wrong("pprof #{option}") { |value| Profiler::Pprof.new(option => value) })
end
%i[token headers timeout service labels dimensions values].each do |option|
  [Profiler::Pyroscope, Profiler::Otlp].each do |sink|
    found.concat(wrong("#{sink} #{option}") { |value| sink.new("http://127.0.0.1:1", option => value) })
  end
end
%i[labels static_labels metadata].each do |option|
  found.concat(wrong("run value of #{option}") { |value| Profiler.run(option => { a: value }) { } })
end
%i[labels headers].each do |option|
  found.concat(wrong("value of #{option}") { |value| Profiler::Otlp.new("http://127.0.0.1:1", option => { "a" => value }) })
  found.concat(wrong("name in #{option}") do |value|
    Profiler::Pyroscope.new("http://127.0.0.1:1", option => {}.compare_by_identity.tap { |names| names[value] = "a" })
  end)
end
found.concat(wrong("label") { |value| Profiler.label(a: value) { } })
found.concat(wrong("percentiles") { |value| Profiler.trace("String#upcase") { "a".upcase }.percentiles(value) })
found.concat(wrong("trace max_overhead") { |value| Profiler.trace("String#upcase", max_overhead: value) { } })
found.concat(wrong("url") { |value| Profiler::Otlp.new(value) })
found.concat(wrong("listen") { |value| Profiler::Pprof.listen(value) })
found.concat(wrong("load") { |value| Profiler::Profile.load(value) })
found.concat(wrong("merge") { |value| Profiler::Profile.merge(profile, value) })
found.concat(wrong("trace") { |value| Profiler.trace("String#upcase", limit: value) { } })
found.concat(wrong("memory") { |value| Profiler.memory(why: value) })
found.concat(wrong("leaks") { |value| Profiler.leaks(rounds: value) { } })
found.concat(wrong("allocations_of") { |value| Profiler.allocations_of(warm_up: value) { } })
found.concat(wrong("control") { |value| Profiler.control(directory: value).close })
found.concat(wrong("dump_signal") { |value| Profiler.control(dump_signal: value).close })
found.concat(wrong("matcher") { |value| allocate_at_most(value).matches?(-> { }) })
found.concat(wrong("matcher of") { |value| allocate_at_most(0).of(value).matches?(-> { }) })
found.concat(wrong("marker") { |value| Profiler.marker(value) { } })
%i[dump by tree find_methods].each do |question|
  found.concat(wrong(question) { |value| question == :tree ? profile.tree(type: value) : profile.public_send(question, value) })
end
%i[diff growth merge trim_path].each { |question| found.concat(wrong(question) { |value| profile.public_send(question, value) }) }
%i[type sort tolerance].each { |option| found.concat(wrong("diff #{option}") { |value| profile.diff(profile, option => value) }) }
%i[title style limit].each { |option| found.concat(wrong("dump #{option}") { |value| profile.dump(:svg, option => value) }) }
found.concat(wrong("filter over") { |value| profile.filter(during: "x", over: value) })
%i[limit sort by type width].each { |option| found.concat(wrong("report #{option}") { |value| profile.report(option => value) }) }
%i[focus thread during].each { |option| found.concat(wrong("filter #{option}") { |value| profile.filter(option => value) }) }
print_json(found)
