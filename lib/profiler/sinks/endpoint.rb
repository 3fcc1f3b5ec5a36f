# frozen_string_literal: true

require "net/http"
require "openssl" # else Net::HTTP loads it on the first error, in a thread that may be killed meanwhile
require "uri"
require "zlib"

module Profiler
  module Sinks
    # The address of a backend, with what a request needs: credentials, headers, time-outs. Proxies are taken from the
    # environment, and certificates are always verified.
    class Endpoint
      # A response of the backend. +wait+ is the number of seconds after which it wants the next attempt, or nil.
      Reply = Struct.new(:status, :wait, :text) do
        def delivered? = status.between?(200, 299)

        # Returns whether a retry may succeed.
        def again? = [408, 429].include?(status) || status >= 500

        def to_s = "HTTP #{status}#{": #{text}" unless text.empty?}"
      end

      # Ruby's own class. The tests of an app may put another in its place, as WebMock does, which would count or record the requests.
      HTTP = ::Net::HTTP
      private_constant :HTTP

      # The largest number of bytes of a reply that are read.
      LONGEST_REPLY = 1 << 16
      # The largest number of characters of a reply that are printed.
      LONGEST_TEXT = 200
      # The largest size of a reply with its headers, in bytes.
      LONGEST_MESSAGE = LONGEST_REPLY + (1 << 16)
      # The largest +Retry-After+ that is respected, in seconds.
      LONGEST_WAIT = 300
      # The largest time-out in seconds. The system cannot wait for all that a number can say.
      LONGEST_TIMEOUT = 86_400
      # The number of time-outs that a request may take in total.
      TIMEOUTS = 6
      # The text of URLs and names that cannot contain a secret: no user and no query.
      HARMLESS = %r{\A(?:[a-z]{1,10}:/{0,2})?[\w.-]*(?::\d{1,5})?(?:/[\w.-]*)*\z}i.freeze
      PORTS = (1..65_535).freeze
      private_constant :PORTS, :LONGEST_REPLY, :LONGEST_TEXT, :LONGEST_MESSAGE, :LONGEST_WAIT, :LONGEST_TIMEOUT, :TIMEOUTS, :HARMLESS

      # Returns the text of an address for a message, unless a secret can be in it.
      #
      # @return [String]
      def self.harmless(given)
        return AnyObject.text(given) unless String === given || URI === given

        given.to_s.valid_encoding? && given.to_s.b.match?(HARMLESS) ? AnyObject.text(given.to_s) : "(not shown, because it may contain a password)"
      end

      # @param url [String] http or https; a user and password in it become basic authentication
      # @param path [String] added to the path of the URL
      # @param headers [Hash{String => String}]
      # @param basic [Array(String, String), nil] user and password
      # @param token [String, nil] a bearer token
      # @param timeout [Numeric] seconds, for the connection and for each part of the reply
      # @param ca_file [String, nil] certificates that are trusted, in place of the system's
      # @raise [ArgumentError] for a value that is not allowed
      def initialize(url, path: "", headers: {}, basic: nil, token: nil, timeout: 10, ca_file: nil)
        @uri = parse(text_of(url), path)
        @timeout = AnyObject.number("timeout", timeout, "a number of seconds above 0 and up to #{LONGEST_TIMEOUT}") { |seconds| seconds.positive? && seconds <= LONGEST_TIMEOUT }
        @ca_file = ca_file
        @basic = basic&.map { |text| Service.scalar("user, password", text) } || credentials_of(@uri)
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
        request = request_of(body, type)
        till = Clock.now + (TIMEOUTS * @timeout)
        # A reply without an end is not read to its end, as Net::HTTP would.
        catch(:reply) do
          start do |http|
            bound(http, till)
            http.request(request) { |response| throw :reply, read(response) }
          end
        end
      rescue URI::Error
        raise Error, "the proxy in the environment is not a URL", cause: nil # a password can be in it
      end

      # @return [String]
      def host = @uri.host

      # Returns the URL without secrets.
      def to_s = "#{@uri.scheme}://#{@uri.host}:#{@uri.port}#{@uri.path}"

      def inspect = "#<#{self.class} #{self}>"

      USER_AGENT = "profiler/#{VERSION} (Ruby #{RUBY_VERSION})"
      private_constant :USER_AGENT

      private

      # A URI of another library is a String in this way, too.
      def text_of(url)
        return url.to_s if URI === url

        AnyObject.can?(url, :to_str) ? url.to_str : raise(ArgumentError, "url: #{Endpoint.harmless(url)} is not an http or https URL")
      end

      def parse(url, path)
        uri = URI.parse(url)
        raise URI::InvalidURIError unless uri.is_a?(URI::HTTP) && uri.host && !uri.host.empty? && PORTS.cover?(uri.port)

        uri.path = uri.path.chomp("/") + path
        uri.path = "/" if uri.path.empty?
        uri
      rescue URI::Error, EncodingError
        # A password can be in it, and in the cause.
        raise ArgumentError, "url: #{Endpoint.harmless(url)} is not an http or https URL", cause: nil
      end

      def credentials_of(uri)
        user, password = uri.userinfo&.split(":", 2)
        user && [user, password.to_s].map { |it| URI.decode_www_form_component(it.gsub("+", "%2B")) }
      rescue ArgumentError
        raise ArgumentError, "url: its user or password has a percent sign that does not begin an encoded character (allowed: %25)", cause: nil
      end

      # Builds the request. It accepts no encoding of the reply, because one that cannot be decoded would be an error after the
      # backend has the window. The host name is taken from the URL, because an IPv6 address is in brackets.
      def request_of(body, type)
        own = { "Content-Type" => type, "Content-Encoding" => "gzip", "User-Agent" => USER_AGENT, "Accept-Encoding" => "identity" }
        request = HTTP::Post.new(@uri.request_uri, @headers.merge(own))
        request["Host"] = @uri.port == @uri.default_port ? @uri.host : "#{@uri.host}:#{@uri.port}" unless @headers.keys.any? { |it| it.casecmp?("host") }
        request.basic_auth(*@basic) if @basic
        request.body = body
        request
      end

      def bound(http, till)
        socket = http.instance_variable_get(:@socket)
        io = socket.io if socket.respond_to?(:io) # what stands in for a connection in tests may have none
        BoundedSocket.bound(io, till, LONGEST_MESSAGE) if io.respond_to?(:read_nonblock) && io.respond_to?(:to_io)
      end

      # Refuses line breaks, which would start a header of their own. The message does not contain the value, which may be
      # secret.
      def checked(text)
        text = Service.scalar("headers", text)
        raise ArgumentError, "headers: a name or value has a line break, or is not valid text" if text.match?(/[\r\n\0]/) || !text.valid_encoding?

        text
      rescue ArgumentError, EncodingError
        raise ArgumentError, "headers: a name or value has a line break, or is not valid text", cause: nil
      end

      # Connects to one address of the host after the other, until one responds.
      def start
        left = addresses
        connected = false
        begin
          http = connection
          http.ipaddr = left.shift if left.any?
          http.start do
            connected = true
            yield http
          end
        rescue SystemCallError, Net::OpenTimeout
          raise if connected || left.empty?

          retry
        end
      end

      # Resolves the addresses of the host on Rubies whose own lookup cannot be interrupted: it would delay the end of the
      # process.
      def addresses
        RUBY_VERSION < "3.3" && !connection.proxy? ? Native.addresses_of(@uri.hostname) : []
      end

      def connection
        http = HTTP.new(@uri.hostname, @uri.port)
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
        begin
          response.read_body do |part|
            text << part
            break if text.bytesize > LONGEST_REPLY || Clock.now > till
          end
        rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError, Zlib::Error, OpenSSL::SSL::SSLError
          nil # the status says what became of the window
        end
        wait = Float(response["retry-after"], exception: false)
        Reply.new(Integer(response.code, 10), wait&.clamp(0, LONGEST_WAIT), redirection(response) || printable(text))
      end

      # Says where a redirection leads. None is followed: the credentials are for this address.
      def redirection(response)
        place = response["location"]
        "it redirects to #{Endpoint.harmless(place)}, which is not followed: use the address that it leads to" if place && response.code.start_with?("3")
      end

      def printable(text) = Losses.harmless(text.gsub(/[\r\n\t ]+/, " ")).strip[0, LONGEST_TEXT]
    end
  end
end
