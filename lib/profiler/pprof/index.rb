# frozen_string_literal: true

module Profiler
  class Pprof
    # The page that lists what can be requested.
    module Index
      PATHS = {
        "/profile" => "CPU time of all threads. <code>seconds=30</code>",
        "/wall" => "wall clock time of all threads: what they did and what they waited for. <code>seconds=30</code>",
        "/allocs" => "objects that are allocated during that time. <code>seconds=10</code>",
        "/heap" => "live objects, from a continuous session with the mode <code>heap</code>",
        "/memory" => "where the memory of the process is. <code>owners=1</code> finds who has it, in a copy of the process; <code>why=CLASS</code>; <code>since=1</code> shows what changed since the last request; <code>json=1</code>",
        "/threads" => "every thread: name, status, labels, backtrace",
        "/metrics" => "counters of the profiler itself, for Prometheus"
      }.freeze

      # @param base [String] the path of the app
      # @param path [String] of the request below that; links are relative, as a proxy may have cut the path
      # @return [String]
      def self.html(base, path)
        inside = path.empty? ? "#{Html.escape(base[%r{[^/]*\z}])}/" : ""
        rows = PATHS.map { |to, text| "<li><a href=\"#{inside}#{to.delete_prefix("/")}\">#{to}</a> #{text}</li>" }
        <<~HTML
          <!doctype html>
          <html lang="en">
          <meta charset="utf-8">
          <title>profiles of process #{Process.pid}</title>
          <h1>Profiles of process #{Process.pid}</h1>
          <ul>
          #{rows.join("\n")}
          </ul>
          <p>Profiles are recorded while you wait, and read by <code>go tool pprof</code> and <code>profiler report</code>.</p>
          </html>
        HTML
      end
    end
  end
end
