# frozen_string_literal: true

require "json"
require_relative "engine"
require_relative "service"

module Profiler
  # Sends windows to Grafana Pyroscope, to Grafana Cloud, or to Alloy.
  #
  #   Profiler.continuous(to: Profiler::Pyroscope.new("http://pyroscope:4040", service: "shop", labels: { region: "eu" }))
  #
  # Options that are not given come from the variables that Pyroscope's own clients read: +PYROSCOPE_SERVER_ADDRESS+,
  # +PYROSCOPE_APPLICATION_NAME+, +PYROSCOPE_BASIC_AUTH_USER+, +PYROSCOPE_BASIC_AUTH_PASSWORD+, +PYROSCOPE_TENANT_ID+,
  # +PYROSCOPE_HTTP_HEADERS+ (JSON) and +PYROSCOPE_LABELS+ (<tt>name=value,...</tt>).
  class Pyroscope < Sinks::Engine
    NAME = "pyroscope"
    PATH = "/push.v1.PusherService/Push"
    TYPE = "application/proto"
    JITTER = 5
    ADDRESS = "http://localhost:4040"
    # The largest size of a family of samples in bytes, before compression. A server's rate limit refuses every push of more
    # than 2 MiB, however often it is sent.
    BYTES = 512 << 10
    private_constant :BYTES

    # @param url [String, nil] of the server
    # @param user [String, nil] for basic authentication, with +password+; for Grafana Cloud the number of the instance and a token
    # @param token [String, nil] a bearer token
    # @param tenant [String, nil] sent as +X-Scope-OrgID+
    # @param headers [Hash{String => String}] more headers
    # @param timeout [Numeric] seconds, for the connection and for each part of the reply
    # @param ca_file [String, nil] certificates that are trusted, in place of the system's
    # @param options [Hash] as for {Sinks::Engine#initialize}: +service+, +labels+, +dimensions+, +values+
    # @raise [ArgumentError] for a value that is not allowed
    def initialize(url = nil, user: nil, password: nil, token: nil, tenant: nil, headers: {}, timeout: 10, ca_file: nil, service: nil, labels: {},
                   **options)
      user ||= value("BASIC_AUTH_USER")
      tenant ||= value("TENANT_ID")
      headers = given_headers.merge(Sinks::Service.hash_of("headers", headers))
      headers["X-Scope-OrgID"] = tenant if tenant
      basic = [user, password || value("BASIC_AUTH_PASSWORD").to_s] if user
      endpoint = Sinks::Endpoint.new(url || value("SERVER_ADDRESS") || ADDRESS, path: PATH, headers: headers, basic: basic, token: token,
                                                                                timeout: timeout, ca_file: ca_file)
      labels = Sinks::Service.pairs(value("LABELS")).to_h.merge(Sinks::Service.hash_of("labels", labels))
      super(endpoint, service: service || value("APPLICATION_NAME"), labels: labels, **options)
      Spans.name_profiles
    end

    private

    def value(name) = Sinks::Service.present(ENV["PYROSCOPE_#{name}"])

    def given_headers
      text = value("HTTP_HEADERS") or return {}
      headers = JSON.parse(text)
      headers.is_a?(Hash) ? headers : raise(JSON::ParserError)
    rescue JSON::ParserError
      raise ArgumentError, "PYROSCOPE_HTTP_HEADERS is not a JSON object", cause: nil # what it is, is secret
    end

    def encode(profile)
      upload(profile, :pyroscope, bytes: BYTES, labels: { "service_name" => @service }.merge(@labels))
    end
  end
end
