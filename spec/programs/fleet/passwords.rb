# frozen_string_literal: true

# Provokes errors with passwords in addresses and headers. Prints the messages that show one, and the classes of the errors.
require_relative "../helpers"
require "uri"

wrong = ["http//me:hush@host", "http://me:hush@", "http://me:hu sh@host", "http://me:hush@ho st", "me:hush@host", "https:me:hush@host",
         "http://me:h%ush@host", "http://h x/?token=hush", "http://me:hu/sh@host:x", "ftp://hush@host", "http://me:hush\n@host",
         "http://me:hush\xff@host", URI("ftp://me:hush@host")]
raised = wrong.flat_map do |url|
  [-> { Profiler::Pyroscope.new(url) }, -> { Profiler::Otlp.new(url) }, -> { Profiler.continuous(to: url) },
   -> { ENV["PYROSCOPE_SERVER_ADDRESS"] = url.to_s; Profiler::Pyroscope.new },
   -> { ENV["OTEL_EXPORTER_OTLP_ENDPOINT"] = url.to_s; Profiler::Otlp.new },
   -> { Profiler::Pyroscope.new("http://host", headers: { "a" => "hush\n" }) },
   -> { Profiler::Pyroscope.new("http://host", token: "hush\r") },
   -> { ENV["PYROSCOPE_HTTP_HEADERS"] = '{"hush'; Profiler::Pyroscope.new },
   -> { ENV["http_proxy"] = "http://me:hu sh@proxy"; Profiler.const_get(:Sinks)::Endpoint.new("http://host").post("", "") }]
end
said = raised.map do |block|
  block.call
  "none"
rescue StandardError => e
  [e, e.cause].compact.map { |it| "#{it.class} #{it.message} #{it.full_message(highlight: false).lines.first}" }.join
end
p said.grep(/hu ?sh/).uniq, said.grep(/\Anone/).size, said.map { |it| it[/\A\S+/] }.uniq
