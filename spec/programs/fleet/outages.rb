# frozen_string_literal: true

# Uploads to Pyroscope at PORT and saves in DIRECTORY, with and without a file that makes names unknown and the disk full. Prints
# what became of the windows before, while and after that file is there.
require_relative "../helpers"
require_relative "windows"

@sink = Profiler::Pyroscope.new("http://localhost:#{ENV.fetch("PORT")}", service: "shop")
session = Profiler.continuous(to: @sink, out: ENV.fetch("DIRECTORY"), period: 60, mode: :cpu, frequency: 1_000)
account = -> { session.sinks.map { |it| it.counts.slice(:delivered, :lost, :waiting) } }
windows(2)
wait_for { counts[:waiting].zero? }
before = account.call
File.write(ENV.fetch("NO_NAMES"), "")
windows(3)
wait_for { counts[:retried] > 2 }
without = account.call
File.delete(ENV.fetch("NO_NAMES"))
wait_for { counts[:waiting].zero? }
windows(2)
wait_for { counts[:waiting].zero? }
after = account.call
print_json(before: before, without: without, after: after, stopped: session.stop)
