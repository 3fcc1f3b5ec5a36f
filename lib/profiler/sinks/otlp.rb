# frozen_string_literal: true

require "socket"
require_relative "engine"
require_relative "otlp_gauges"
require_relative "service"

module Profiler
  # Sends windows as OpenTelemetry profiles over HTTP, to a Collector or to a backend that receives them.
  #
  #   Profiler.continuous(to: Profiler::Otlp.new("http://collector:4318", service: "shop"))
  #
  # Options that are not given come from the variables of OpenTelemetry: +OTEL_EXPORTER_OTLP_ENDPOINT+, +OTEL_EXPORTER_OTLP_HEADERS+,
  # +OTEL_EXPORTER_OTLP_TIMEOUT+, +OTEL_EXPORTER_OTLP_CERTIFICATE+ (each also with +PROFILES_+ before the last part, which comes first),
  # +OTEL_SERVICE_NAME+ and +OTEL_RESOURCE_ATTRIBUTES+. The encoding is that of the public alpha, as Collectors of 2026 receive it.
  class Otlp < Sinks::Engine
    NAME = "otlp"
    PATH = "/v1development/profiles"
    TYPE = "application/x-protobuf"
    JITTER = 5
    ADDRESS = "http://localhost:4318"

    # @param url [String, nil] of the receiver, without the path of profiles
    # @param token [String, nil] a bearer token
    # @param headers [Hash{String => String}] more headers
    # @param timeout [Numeric, nil] seconds, for the connection and for each part of the reply
    # @param ca_file [String, nil] certificates that are trusted, in place of the system's
    # @param labels [Hash] attributes of the resource
    # @param options [Hash] as for {Sinks::Engine#initialize}: +service+, +dimensions+, +values+
    # @raise [ArgumentError] for a value that is not allowed
    def initialize(url = nil, token: nil, headers: {}, timeout: nil, ca_file: nil, labels: {}, **options)
      whole = Sinks::Service.present(ENV["OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"]) unless url
      headers = given_headers.merge(Sinks::Service.hash_of("headers", headers))
      endpoint = Sinks::Endpoint.new(whole || url || value("ENDPOINT") || ADDRESS, path: whole ? "" : PATH, headers: headers, token: token,
                                                                                   timeout: timeout || given_timeout,
                                                                                   ca_file: ca_file || value("CERTIFICATE"))
      @gauges_at = gauges_at(url, whole, headers, token, timeout, ca_file)
      super(endpoint, labels: Sinks::Service.attributes.merge(Sinks::Service.hash_of("labels", labels)), **options)
    end

    # Sends rows of memory as gauges to the place for metrics of the same receiver.
    #
    # @api private
    def take_memory(rows) = @sender.add(Sinks::OtlpGauges.encode(rows, resource), @gauges)

    private

    # Returns the address for metrics. That of profiles does not tell it if it is whole.
    def gauges_at(url, whole, headers, token, timeout, ca_file)
      own = Sinks::Service.present(ENV["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"])
      address = own || url || Sinks::Service.present(ENV["OTEL_EXPORTER_OTLP_ENDPOINT"]) || whole&.delete_suffix(PATH) || ADDRESS
      Sinks::Endpoint.new(address, path: own ? "" : Sinks::OtlpGauges::PATH, headers: headers, token: token, timeout: timeout || given_timeout,
                                   ca_file: ca_file || value("CERTIFICATE"))
    end

    def begin_account
      super
      @gauges = Sinks::Sender::Place.new(@gauges_at, Sinks::OtlpGauges::TYPE, Losses.new("rows of memory for #{name} were lost"))
    end

    # Returns the variable of profiles, or else that of all signals.
    def value(name) = Sinks::Service.present(ENV["OTEL_EXPORTER_OTLP_PROFILES_#{name}"] || ENV["OTEL_EXPORTER_OTLP_#{name}"])

    def given_headers = Sinks::Service.pairs(value("HEADERS")).to_h { |name, text| [name, Sinks::Service.decoded(text)] }

    # Returns the timeout in seconds; the variable has milliseconds.
    def given_timeout
      text = value("TIMEOUT") or return 10
      Float(text, exception: false)&.fdiv(1_000) || text
    end

    def encode(profile)
      upload(profile, :otlp, resource: resource)
    end

    def resource
      { "host.name" => host, "process.pid" => Process.pid.to_s, "process.runtime.name" => RUBY_ENGINE, "process.runtime.version" => RUBY_VERSION,
        "telemetry.sdk.language" => "ruby" }.merge(@labels, "service.name" => @service)
    end

    def host = @host ||= Socket.gethostname
  end
end
