# frozen_string_literal: true

require "json"
require_relative "server"
require_relative "tools"

# An OpenTelemetry Collector that receives profiles over HTTP, and what it made of them. It decodes, so that we need not.
#
#   Collector.open(in_box("collector"), need_collector) do |collector|
#     ... # sends to collector.url
#     collector.stop
#     collector.profiles.sum { |profile| profile.samples.sum(&:value) }
#   end
class Collector
  include Child

  # Profiles of one request share its tables. +resource+ has the attributes of the process, +scope+ is a name; types are pairs
  # of a name and a unit; times are nanoseconds.
  Profile = Struct.new(:resource, :scope, :sample_type, :period_type, :period, :time, :duration, :samples, :attributes, keyword_init: true)
  # +stack+ has names of functions, leaf first; +link+ the ids of a trace and a span, in hex.
  Sample = Struct.new(:stack, :value, :attributes, :link)

  # Starts one, which ends with the block. Parameters are those of {#initialize}.
  def self.open(directory, program)
    collector = new(directory, program)
    yield collector
  ensure
    collector&.stop(:KILL)
  end

  # @param directory [String] for its files, which need not exist
  # @param program [String] from {Tools#need_collector}
  def initialize(directory, program)
    FileUtils.mkdir_p(directory)
    @directory = directory
    @program = program
    @port = Server.free_port
    File.write(file("config.yaml"), config)
    start
  end

  def url = "http://127.0.0.1:#{@port}"

  # Starts it again, on the same port. What it had received is kept.
  def start
    command = [@program, "--config", file("config.yaml"), "--feature-gates", "service.profilesSupport"]
    @pid = Process.spawn(*command, pgroup: true, %i[out err] => [file("log"), "a"])
    wait_until(60) { listening? || (Process.wait(@pid, Process::WNOHANG) && raise("the Collector ended: #{log}")) }
  end

  # Ends it, however young it is. What it answered to is written by then.
  def stop(signal = :TERM)
    return unless @pid

    Process.kill(signal, @pid)
    Process.wait(@pid)
    @pid = nil
  end

  # @return [String] the lines that it prints
  def log = File.read(file("log"))

  # @return [Array<Profile>] all that it has received
  def profiles
    return [] unless File.exist?(file("received.json"))

    File.foreach(file("received.json")).select { |line| line.end_with?("\n") }.flat_map { |line| Request.new(JSON.parse(line)).profiles }
  end

  private

  def file(name) = File.join(@directory, name)

  # A file that may rotate is written to without a buffer. A buffer would be lost with a Collector that a signal ends before it
  # handles signals, and it listens earlier than that.
  def config
    JSON.generate(
      receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:#{@port}" } } } },
      exporters: { debug: {}, file: { path: file("received.json"), rotation: { max_megabytes: 1_000 } } },
      service: { telemetry: { metrics: { level: "none" } }, pipelines: { profiles: { receivers: ["otlp"], exporters: %w[debug file] } } }
    )
  end

  def listening?
    TCPSocket.open("127.0.0.1", @port).close || true
  rescue SystemCallError
    false
  end

  # A request as the Collector writes it, with its tables.
  class Request
    def initialize(json)
      @json = json
      @tables = json.fetch("dictionary", {})
      @strings = @tables.fetch("stringTable", [])
    end

    def profiles
      @json.fetch("resourceProfiles", []).flat_map do |resource|
        attributes = attributes_of(resource.dig("resource", "attributes"))
        resource.fetch("scopeProfiles", []).flat_map do |scope|
          scope.fetch("profiles", []).map { |profile| profile_of(profile, attributes, scope.dig("scope", "name")) }
        end
      end
    end

    private

    def profile_of(profile, resource, scope)
      Profile.new(resource: resource, scope: scope, sample_type: type_of(profile["sampleType"]), period_type: type_of(profile["periodType"]),
                  period: profile["period"].to_i, time: profile["timeUnixNano"].to_i, duration: profile["durationNano"].to_i,
                  samples: profile.fetch("samples", []).map { |sample| sample_of(sample) }, attributes: indexed(profile["attributeIndices"]))
    end

    def sample_of(sample)
      link = entry("linkTable", sample["linkIndex"])
      Sample.new(stack_of(sample["stackIndex"]), sample.fetch("values", []).sum(&:to_i), indexed(sample["attributeIndices"]),
                 link.values_at("traceId", "spanId").compact)
    end

    def stack_of(index)
      locations = entry("stackTable", index).fetch("locationIndices", []).map { |location| entry("locationTable", location) }
      locations.flat_map { |location| location.fetch("lines", []) }.map { |line| string(entry("functionTable", line["functionIndex"])["nameStrindex"]) }
    end

    def type_of(type) = type && [string(type["typeStrindex"]), string(type["unitStrindex"])]

    def indexed(indices) = attributes_of(indices.to_a.map { |index| entry("attributeTable", index) })

    # The Collector moves names and texts of attributes into its table.
    def attributes_of(attributes)
      attributes.to_a.to_h { |attribute| [attribute["key"] || string(attribute["keyStrindex"]), value_of(attribute["value"])] }
    end

    def value_of(value)
      type, content = value&.first
      case type
      when nil, "stringValue", "boolValue", "doubleValue" then content
      when "stringValueStrindex" then string(content)
      when "intValue" then Integer(content)
      else raise ArgumentError, "a spec has no use for #{type}"
      end
    end

    # Zeros are left out of JSON.
    def string(index) = @strings.fetch(index.to_i)

    def entry(table, index) = @tables.fetch(table, [{}]).fetch(index.to_i)
  end
  private_constant :Request
end
