# frozen_string_literal: true

module Profiler
  class Pprof
    # The responses, in Rack's form.
    module Answer
      NOSNIFF = { "x-content-type-options" => "nosniff", "cache-control" => "no-store, no-transform" }.freeze
      # A file is packed already: it has no encoding that a client would undo, and no middleware is to pack it again.
      FILE = { "content-type" => "application/octet-stream", **NOSNIFF }.freeze
      TEXT = { "content-type" => "text/plain; charset=utf-8", **NOSNIFF }.freeze
      PAGE = { "content-type" => "text/html; charset=utf-8", "content-security-policy" => "default-src 'none'; style-src 'unsafe-inline'",
               **NOSNIFF }.freeze
      JSON = { "content-type" => "application/json", **NOSNIFF }.freeze
      METRICS = { "content-type" => "text/plain; version=0.0.4; charset=utf-8", **NOSNIFF }.freeze
      # Go's tools print the text of an error that has it.
      ERROR = { "x-go-pprof" => "1" }.freeze
      private_constant :NOSNIFF, :FILE, :TEXT, :PAGE, :JSON, :METRICS, :ERROR

      class << self
        # @param path [String] of the request
        # @param bytes [String]
        def file(path, bytes) = whole(200, FILE.merge("content-disposition" => "attachment; filename=\"#{path.delete_prefix("/")}\""), bytes)

        def text(status, text, headers = {})
          whole(status, { **TEXT, **(status < 400 ? {} : ERROR), **headers }, "#{text.chomp}\n")
        end

        def page(html) = whole(200, PAGE, html)

        def json(text) = whole(200, JSON, text)

        def metrics(text) = whole(200, METRICS, text)

        # Returns a response without its body, whose length is not known.
        def head(response) = [response[0], response[1].except("content-length"), []]

        # Returns the response of Rack::URLMap to an unknown path. A Rails router continues with its own routes after it.
        #
        # @param env [Hash]
        def absent(env)
          headers = { "content-type" => "text/plain", "x-cascade" => "pass" }
          [404, old_rack? ? { "Content-Type" => "text/plain", "X-Cascade" => "pass" } : headers, ["Not Found: #{env.fetch("SCRIPT_NAME", nil)}#{env.fetch("PATH_INFO", nil)}"]]
        end

        private

        def whole(status, headers, body) = [status, { **headers, "content-length" => body.bytesize.to_s }, [body]]

        # Returns whether header names are in mixed case, as before Rack 3.
        def old_rack? = defined?(::Rack::RELEASE) && ::Rack::RELEASE.to_i < 3
      end
    end
  end
end
