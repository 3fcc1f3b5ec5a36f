# frozen_string_literal: true

require "json"
require "uri"
require "zlib"
require_relative "http_server"
require_relative "pprof"
require_relative "pyroscope_limits"

# A fake of the server of Grafana Pyroscope, as far as profiles are pushed to it, or of Alloy's receiver, which refuses less. It
# answers as the sources of Pyroscope 1.21 say. No test was run against the real server.
#
#   PyroscopeServer.open(rate: nil) do |server|
#     ... # pushes to server.url
#     server.profiles.first.pprof.total("cpu")
#   end
class PyroscopeServer < HttpServer
  PUSH = "/push.v1.PusherService/Push"
  TYPES = { "application/proto" => :series_of_proto, "application/json" => :series_of_json, "application/json; charset=utf-8" => :series_of_json }.freeze
  CODES = { invalid_argument: 400, unauthenticated: 401, resource_exhausted: 429, unimplemented: 501 }.freeze
  LABEL = /[A-Za-z0-9_.]+/.freeze

  # A profile as it was pushed. +labels+ are those of the series, +tenant+ is nil where there are no tenants.
  Profile = Struct.new(:tenant, :labels, :raw, :id) do
    # @return [Pprof] what the server keeps of it
    def pprof = @pprof ||= Pprof.new(raw)
  end

  # @param alloy [Boolean] take everything, as the receiver of Alloy does
  # @param tenants [Boolean] a request must name its tenant
  # @param authorization [String, nil] the header that a request must have
  # @param limits [Hash] those that differ from {PyroscopeLimits::DEFAULTS}
  def initialize(alloy: false, tenants: false, authorization: nil, **limits)
    @alloy = alloy
    @tenants = tenants
    @authorization = authorization
    @limits = PyroscopeLimits.new(**limits)
    @profiles = []
    @storing = Mutex.new
    super(->(request) { respond(request) })
  end

  # @return [Array<Profile>] those that were not refused, in the order in which they came
  def profiles = @storing.synchronize { @profiles.dup }

  # @return [Array<Hash{String => String}>] the distinct sets of labels under which their samples are stored
  def series
    profiles.flat_map { |profile| @limits.series(profile.labels.to_a, profile.pprof).map(&:to_h) }.uniq
  end

  private

  def respond(request)
    return [404, { "Content-Type" => "text/plain" }, "404 page not found\n"] unless [PUSH, "/ingest"].include?(request.path)
    return [405, { "Allow" => "POST" }, ""] unless request.verb == "POST"

    request.path == PUSH ? push(request) : ingest(request)
  end

  def push(request)
    type = request.headers["content-type"]
    return [415, { "Accept-Post" => TYPES.keys.join(", ") }, ""] unless TYPES.key?(type)

    tenant = tenant_of(request)
    take(tenant, send(TYPES[type], decoded(request)))
    pushed(request, type)
  rescue PyroscopeLimits::Refused => e
    [CODES.fetch(e.code), { "Content-Type" => "application/json" }, JSON.generate(code: e.code, message: e.message.scrub)]
  end

  # A reply is packed as the request is.
  def pushed(request, type)
    body = type == "application/proto" ? "" : "{}"
    return [200, { "Content-Type" => type }, body] unless request.headers["content-encoding"] == "gzip"

    [200, { "Content-Type" => type, "Content-Encoding" => "gzip" }, Zlib.gzip(body)]
  end

  def tenant_of(request)
    refuse("invalid credentials", :unauthenticated) if @authorization && request.headers["authorization"] != @authorization
    return unless @tenants

    request.headers["x-scope-orgid"] || refuse("no org id", :unauthenticated)
  end

  def decoded(request)
    body = request.body
    case request.headers["content-encoding"]
    when nil, "identity" then body
    when "gzip" then body = Zlib.gunzip(body)
    else refuse("unknown compression: supported encodings are gzip", :unimplemented)
    end
    refuse("message size #{body.bytesize} is too large", :resource_exhausted) unless @alloy || @limits.body?(body.bytesize)
    body
  rescue Zlib::Error => e
    refuse("decompress: #{e.message}")
  end

  # @return [Array<Array>] of each series: pairs of labels; and pairs of an id and the bytes of a profile
  def series_of_proto(body)
    Protobuf.fields(body)[1].map do |bytes|
      series = Protobuf.fields(bytes)
      labels = series[1].map { |label| Protobuf.fields(label).values_at(1, 2).map { |value| text(value.last) } }
      [labels, series[2].map { |sample| Protobuf.fields(sample).then { |field| [text(field[2].last), field[1].last.to_s] } }]
    end
  rescue Protobuf::Malformed => e
    refuse("unmarshal message: #{e.message}")
  end

  # Fields with other names are passed over, also those that differ in case only.
  def series_of_json(body)
    JSON.parse(body).fetch("series", []).map do |series|
      labels = series.fetch("labels", []).map { |label| label.values_at("name", "value").map(&:to_s) }
      [labels, series.fetch("samples", []).map { |sample| [sample["ID"].to_s, sample["rawProfile"].to_s.unpack1("m0")] }]
    end
  rescue JSON::ParserError, ArgumentError, NoMethodError, TypeError => e
    refuse("unmarshal message: #{e.message}")
  end

  # All of a request, or nothing.
  def take(tenant, all)
    profiles = all.flat_map { |labels, samples| samples.map { |id, raw| [with_service(labels), Profile.new(tenant, nil, raw, id)] } }
    @storing.synchronize do
      check(tenant, profiles) unless @alloy
      profiles.each { |labels, profile| profile.labels = @alloy ? labels.to_h : @limits.stored(labels) }
      @profiles.concat(profiles.map(&:last))
    end
  end

  def check(tenant, profiles)
    @limits.check_rate(tenant, profiles.sum { |labels, profile| profile.pprof.size + labels.flatten.sum(&:bytesize) })
    refuse("no profiles received") if profiles.empty?
    profiles.each { |labels, profile| @limits.check(labels, profile.pprof) }
    profiles.each { |_labels, profile| @limits.cut(profile.pprof) }
  rescue Protobuf::Malformed => e
    refuse("failed to parse profile: #{e.message}")
  end

  # A series without the name of its service gets another one: no error, but users do not find it.
  def with_service(labels)
    service = labels.to_h["service_name"].to_s
    return labels unless service.empty?

    labels.reject { |name, _value| name == "service_name" } + [["service_name", @alloy ? labels.to_h["__name__"].to_s : "unknown_service"]]
  end

  # The older way: one profile a request, and its labels in the query.
  def ingest(request)
    tenant = tenant_of(request)
    query = URI.decode_www_form(request.query.to_s).to_h
    labels = labels_of(query["name"].to_s)
    return [400, { "Content-Type" => "text/plain" }, "invalid name"] unless labels
    return [413, { "Content-Type" => "text/plain" }, "request body too large"] unless @alloy || @limits.body?(request.body.bytesize)

    raw = query["format"] == "pprof" || @alloy ? request.body : part_of(request)
    take(tenant, [[@alloy ? labels : labels_of_ingest(labels, raw), [["", raw]]]])
    [200, {}, ""]
  rescue PyroscopeLimits::Refused, Protobuf::Malformed => e
    status = { unauthenticated: 401, resource_exhausted: 429 }[e.code] if e.is_a?(PyroscopeLimits::Refused)
    [status || 422, { "Content-Type" => "application/json" }, JSON.generate(code: "unknown", message: e.message)]
  end

  # @return [Array<Array(String, String)>, nil] of a name with labels in braces
  def labels_of(name)
    app, inside = name.match(/\A\s*(#{LABEL})\s*(?:\{(.*?)\}.*)?\z/)&.captures
    pairs = inside.to_s.split(",").map { |pair| pair.split("=", 2).map(&:strip) }
    return [["__name__", app], *pairs] if app && pairs.all? { |label, value| value && label.match?(/\A#{LABEL}\z/) }

    [["__name__", ""]] if @alloy
  end

  def labels_of_ingest(labels, raw)
    types = Pprof.new(raw).sample_types.map(&:first)
    app = labels.to_h["__name__"]
    name = %w[wall cpu samples].zip(%w[wall process_cpu process_cpu]).find { |type, _| types.include?(type) }&.last
    others = labels.reject { |label, _value| label == "__name__" }
    others << [labels.to_h.key?("service_name") ? "app_name" : "service_name", app]
    [["__name__", name || "memory"], ["__delta__", "false"], *others]
  end

  # The profile of a form. What is not a form is not a pprof either.
  def part_of(request)
    boundary = request.headers["content-type"].to_s[%r{\Amultipart/form-data;.*boundary="?([^";]+)}, 1]
    parts = request.body.split("--#{boundary}").map { |part| part.split("\r\n\r\n", 2) }
                   .to_h { |head, body| [head.to_s[/ name="([^"]+)"/, 1], body.to_s.chomp("\r\n")] }
    raise Protobuf::Malformed, "a form with a profile, and without prev_profile, is expected" if parts.key?("prev_profile") || !parts.key?("profile")

    parts["profile"]
  end

  def refuse(message, code = :invalid_argument) = raise(PyroscopeLimits::Refused.new(code, message))

  def text(bytes) = bytes.to_s.dup.force_encoding(Encoding::UTF_8)
end
