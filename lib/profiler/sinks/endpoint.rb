# frozen_string_literal: true

require "net/http"
require "openssl" # else Net::HTTP loads it on the first error, in a thread that may be killed meanwhile
require "uri"

module Profiler
  module Sinks
    # The address of an engine, with what a request needs: credentials, headers, time-outs. Proxies are those of the environment, and
    # a certificate is always verified.
    class Endpoint
      # An answer of the engine. +wait+ are the seconds after which it wants the next try, if it says so.
      Reply = Struct.new(:status, :wait, :text) do
        def delivered? = status.between?(200, 299)

        # Whether the same request may succeed later.
        def again? = [408, 429].include?(status) || status >= 500

        def to_s = "HTTP #{status}#{": #{text}" unless text.empty?}"
      end

      # Bytes of a reply that are read.
      LONGEST_REPLY = 1 << 16
      # Characters of a reply that are said.
      LONGEST_TEXT = 200
      # Seconds that a +Retry-After+ can be.
      LONGEST_WAIT = 300
      private_constant :LONGEST_REPLY, :LONGEST_TEXT, :LONGEST_WAIT

      # @param url [String] http or https; a user and password in it become basic authentication
      # @param path [String] added to the path of the URL
      # @param headers [Hash{String => String}]
      # @param basic [Array(String, String), nil] user and password
      # @param token [String, nil] a bearer token
      # @param timeout [Numeric] seconds, for the connection and for each part of the reply
      # @param ca_file [String, nil] certificates that are trusted, in place of the system's
      # @raise [ArgumentError] for a value that is not allowed
      def initialize(url, path: "", headers: {}, basic: nil, token: nil, timeout: 10, ca_file: nil)
        @uri = parse(url.to_s, path)
        raise ArgumentError, "timeout: #{timeout.inspect} is not a number of seconds above 0" unless timeout.is_a?(Numeric) && timeout.positive?

        @timeout = timeout
        @ca_file = ca_file
        @basic = basic || credentials_of(url.to_s)
        @headers = headers.to_h { |name, value| [checked(name), checked(value)] }
        @headers["Authorization"] = "Bearer #{checked(token)}" if token
      end

      # Sends one request, on a connection of its own: another process cannot have inherited it.
      #
      # @param body [String] packed by gzip
      # @param type [String] the media type
      # @return [Reply]
      # @raise [StandardError] any that a network can have
      def post(body, type)
        request = Net::HTTP::Post.new(@uri, @headers.merge("Content-Type" => type, "Content-Encoding" => "gzip", "User-Agent" => USER_AGENT))
        request.basic_auth(*@basic) if @basic
        request.body = body
        # A reply without an end is not read to its end, as Net::HTTP would.
        catch(:reply) { connection.start { |http| http.request(request) { |response| throw :reply, read(response) } } }
      end

      # Without what is secret.
      def to_s = "#{@uri.scheme}://#{@uri.host}:#{@uri.port}#{@uri.path}"

      def inspect = "#<#{self.class} #{self}>"

      USER_AGENT = "profiler/#{VERSION} (Ruby #{RUBY_VERSION})"
      private_constant :USER_AGENT

      private

      def parse(url, path)
        uri = URI.parse(url)
        raise URI::InvalidURIError unless uri.is_a?(URI::HTTP) && uri.host

        uri.path = uri.path.chomp("/") + path
        uri.path = "/" if uri.path.empty?
        uri
      rescue URI::InvalidURIError
        # A password can be in it.
        raise ArgumentError, "url: #{url.gsub(%r{//[^/@]*@}, "//...@").inspect} is not an http or https URL"
      end

      def credentials_of(url)
        user, password = URI.parse(url).userinfo&.split(":", 2)
        user && [user, password.to_s].map { |it| URI.decode_www_form_component(it.gsub("+", "%2B")) }
      end

      # A line break would begin a header of its own. The message does not tell the value, which may be secret.
      def checked(text)
        text = text.to_s
        raise ArgumentError, "headers: one has a line break or is no text" if text.match?(/[\r\n\0]/) || !text.valid_encoding?

        text
      rescue ArgumentError, EncodingError
        raise ArgumentError, "headers: one has a line break or is no text"
      end

      def connection
        http = Net::HTTP.new(@uri.host, @uri.port)
        http.use_ssl = @uri.is_a?(URI::HTTPS)
        http.ca_file = @ca_file if @ca_file
        http.open_timeout = http.read_timeout = http.write_timeout = @timeout
        http.ssl_timeout = @timeout
        http.max_retries = 0
        http
      end

      def read(response)
        text = +""
        till = Clock.now + @timeout
        response.read_body do |part|
          text << part
          break if text.bytesize > LONGEST_REPLY || Clock.now > till
        end
        wait = Float(response["retry-after"], exception: false)
        Reply.new(Integer(response.code, 10), wait&.clamp(0, LONGEST_WAIT), printable(text))
      end

      def printable(text) = text.force_encoding(Encoding::UTF_8).scrub("?").gsub(/[^[:print:]]+/, " ").strip[0, LONGEST_TEXT]
    end
  end
end
