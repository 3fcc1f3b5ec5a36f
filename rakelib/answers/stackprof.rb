# frozen_string_literal: true

# Loaded into a program before its own code: samples its main thread with stackprof, by the wall clock, and writes what that saw
# as the process ends, to a file of the directory ANSWERS_PEER. It is the second opinion on the first line.
require "stackprof"

StackProf.start(mode: :wall, interval: 1_000)
at_exit do
  StackProf.stop
  results = StackProf.results
  all = results[:samples].to_f
  rows = lambda do |key, limit|
    frames = results[:frames].values.reject { |frame| frame[:file].end_with?("/bin/#{File.basename($PROGRAM_NAME)}") }
    frames.max_by(limit) { |frame| frame[key] }.map { |frame| format("%5.1f%%  %s  %s:%d", 100 * frame[key] / all, frame[:name], frame[:file], frame[:line].to_i) }
  end
  text = ["#{results[:samples]} samples, #{results[:gc_samples]} in GC", "self:", *rows.call(:samples, 5), "with callees:", *rows.call(:total_samples, 25)]
  File.write(File.join(ENV.fetch("ANSWERS_PEER"), "#{results[:samples].to_s.rjust(9, "0")}.#{Process.pid}"), text.join("\n")) if all.positive?
end
