# frozen_string_literal: true

module Profiler
  class Middleware
    # Says in development where the profile of a requested response is: in a line of the log, and in a browser by a link at the end
    # of the page. The link needs no script. Its style is left out where the app has a Content-Security-Policy, so that no policy is
    # violated.
    class Notice
      LENGTH = "content-length"
      TYPE = "content-type"
      POLICIES = %w[content-security-policy content-security-policy-report-only].freeze
      # HTML in an encoding whose text ends in ASCII.
      HTML = %r{\A\s*text/html\b(?!.*utf-?(?:16|32))}i.freeze
      # Headers of responses to which no text can be added: packed, cut into chunks or ranges, and files to save.
      FIXED = %w[content-encoding transfer-encoding content-range content-disposition rack.hijack].freeze
      # Headers by which a browser would show this response again later, with the link to an old profile.
      OF_CACHES = %w[etag last-modified expires].freeze
      STYLE = ' style="position:fixed;right:8px;bottom:8px;width:auto;margin:0;z-index:2147483647;font:13px sans-serif"'
      # Characters that stay as they are in a path.
      PLAIN = %r{[^\w\-.~!$&'()*+,;=:@/%]}n.freeze
      private_constant :LENGTH, :TYPE, :POLICIES, :HTML, :FIXED, :OF_CACHES, :STYLE, :PLAIN

      # A body with a text after it.
      class Extended
        # @param body [#each] the app's
        # @param text [String]
        def initialize(body, text)
          @body = body
          @text = text
        end

        def each(&block)
          @body.each(&block)
          yield @text
        end

        def close
          @body.close if @body.respond_to?(:close)
        end
      end

      # @param parameter [String, nil] the query parameter that shows a profile; nil: no link leads to it
      def initialize(parameter)
        @parameter = parameter
        @losses = Losses.new("a line about a profile was not logged")
        @links = Losses.new("a page has no link to its profile")
      end

      # Writes the line to the log of Rails or Rack, or else of the server.
      #
      # @param id [String] of the profile
      # @param path [String] of the request
      def log(env, id, path)
        Callback.call(@losses) do
          where = @parameter ? "#{env.fetch("rack.url_scheme", nil)}://#{text(env.fetch("HTTP_HOST", nil).to_s)}#{link(path, id)} shows it" : "its name is #{id}"
          line = "[profiler] profiled #{text(env.fetch("REQUEST_METHOD", nil).to_s)} #{text(path)}: #{where}"
          logger = env.fetch("action_dispatch.logger", nil) || env.fetch("rack.logger", nil)
          logger ? logger.info(line) : env.fetch("rack.errors", nil)&.puts(line)
        end
      end

      # Returns the response with the link, if a browser shows it as a page.
      #
      # @param recording [Recording]
      # @return [Array] a response
      def with_link(env, response, recording, path)
        Callback.call(@links) { linked(env, response, recording, path) } || response
      end

      private

      # @return [Array, nil]
      def linked(env, response, recording, path)
        status, headers, body = response
        return unless @parameter && page?(env, headers) && extensible?(body)

        names = names_of(headers)
        html = html(link(path, recording.id), recording.seconds, names.keys.intersect?(POLICIES))
        [status, changed(headers.dup, names, html), Array === body && body.instance_of?(Array) ? [*body, html] : Extended.new(body, html)]
      end

      # Returns the names of headers by their lower case.
      def names_of(headers) = headers.to_hash.keys.grep(String).to_h { |name| [name.downcase, name] }

      # Browsers say that they load a page, and no other client does.
      def page?(env, headers)
        return false unless env.fetch("HTTP_SEC_FETCH_DEST", nil) == "document" && env.fetch("REQUEST_METHOD", nil) != "HEAD" && Headers.hash?(headers)

        names = names_of(headers)
        names.key?(TYPE) && HTML.match?(headers[names.fetch(TYPE)].to_s) && FIXED.none? { |name| names.key?(name) }
      end

      def extensible?(body)
        AnyObject.can?(body, :each) && !AnyObject.can?(body, :to_path)
      end

      def changed(headers, names, html)
        length = names[LENGTH]
        headers[length] = (Integer(headers[length], 10) + html.bytesize).to_s if length
        names.values_at(*OF_CACHES).compact.each { |name| headers.delete(name) }
        headers[names.fetch("cache-control", "cache-control")] = "no-store"
        headers
      end

      def html(link, seconds, policy)
        %(\n<table#{STYLE unless policy} role="presentation" align="right" border="1" cellpadding="6" bgcolor="#ffffff"><tr><td>) +
          %(<a href="#{Html.escape(link)}" rel="nofollow noreferrer"><font color="#0b62c4">Profile of this request: #{(seconds * 1000).round} ms</font></a></table>\n)
      end

      # Returns the address below the host. It begins with one slash, as two would lead to another host.
      def link(path, id) = "#{text(path).sub(%r{\A/*}, "/")}?#{@parameter}=#{id}"

      # Returns text from a client, without characters that could end a line or a link.
      def text(path)
        path.b.gsub(PLAIN) { |byte| format("%%%02X", byte.ord) }.force_encoding(Encoding::UTF_8)
      end
    end
  end
end
