# frozen_string_literal: true

# The limits that Pyroscope's server has by default: for what it refuses, and for what it changes in silence.
class PyroscopeLimits
  # A request that is refused, with the name of its reason in the Connect protocol.
  class Refused < StandardError
    attr_reader :code

    def initialize(code, message)
      @code = code
      super(message)
    end
  end

  MIB = 1 << 20
  # Sizes in bytes, times in seconds; nil means without a limit. +rate+ is bytes a second, +utf8+ how 2.x takes names of labels.
  DEFAULTS = { body: 256 * MIB, rate: 4 * MIB, burst: 2 * MIB, older: 3_600, newer: 600, profile: 4 * MIB, samples: 16_000, depth: 1_000,
               sample_labels: 100, names: 30, name: 1_024, value: 2_048, utf8: false }.freeze
  # Labels of samples that do not become labels of a series.
  SPANS = %w[profile_id span_id trace_id].freeze

  # @param changed [Hash] entries of {DEFAULTS}
  def initialize(**changed)
    raise ArgumentError, "no such limits: #{changed.keys - DEFAULTS.keys}" unless (changed.keys - DEFAULTS.keys).empty?

    @limits = DEFAULTS.merge(changed)
    @buckets = {}
  end

  # @return [Boolean] whether a body of this size is read
  def body?(bytes) = @limits[:body].nil? || bytes <= @limits[:body]

  # Takes bytes from what a tenant may send.
  #
  # @raise [Refused] also a request larger than +burst+, however seldom it comes
  def check_rate(tenant, bytes)
    return unless @limits[:rate] && @limits[:burst]

    now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    left, at = @buckets.fetch(tenant, [@limits[:burst], now])
    left = [@limits[:burst], left + ((now - at) * @limits[:rate])].min
    refuse("push rate limit exceeded while adding #{bytes} bytes", :resource_exhausted) if bytes > left
    @buckets[tenant] = [left - bytes, now]
  end

  # @param labels [Array<Array(String, String)>] of the series
  # @param pprof [Pprof]
  # @raise [Refused]
  def check(labels, pprof)
    check_time(pprof.time.fdiv(1_000_000_000), Time.now.to_f) if pprof.time.positive?
    over(:profile, pprof.size) { refuse("the profile exceeds the size limit") }
    over(:samples, pprof.samples.size) { refuse("the profile exceeds the samples count limit") }
    pprof.samples.each { |sample| over(:sample_labels, sample.labels.size) { refuse("the profile exceeds the sample labels limit") } }
    pprof.sample_types.each { |type, _unit| refuse("sample type contains -") if type.include?("-") }
    refuse("invalid utf8 string") unless pprof.strings.all?(&:valid_encoding?)
    series(labels, pprof).each { |all| check_labels(all) }
  end

  # The sets of labels under which samples are stored.
  #
  # @param labels [Array<Array(String, String)>]
  # @return [Array<Array>]
  def series(labels, pprof)
    names = labels.map(&:first)
    sets = pprof.samples.map { |sample| sample.labels.select { |name, value| value.is_a?(String) && !SPANS.include?(name) && !names.include?(name) } }
    sets.uniq.map { |of_sample| labels + of_sample.to_a }
  end

  # Changes samples as the server does: stacks lose their leaf end, samples below 0 and numbers among the labels are dropped.
  def cut(pprof)
    pprof.samples.reject! { |sample| sample.values.any?(&:negative?) || sample.values.all?(&:zero?) }
    pprof.samples.each do |sample|
      sample.stack = sample.stack.last(@limits[:depth]) if @limits[:depth]
      sample.labels.select! { |_name, value| value.is_a?(String) }
    end
  end

  # @return [Hash{String => String}] labels with the names that are stored
  def stored(labels)
    labels.to_h { |name, value| [@limits[:utf8] ? name : name.tr(".", "_"), value] }
  end

  private

  def refuse(message, code = :invalid_argument) = raise(Refused.new(code, message))

  def over(limit, size)
    yield if @limits[limit] && size > @limits[limit]
  end

  def check_time(time, now)
    return unless (@limits[:older] && time <= now - @limits[:older]) || (@limits[:newer] && time >= now + @limits[:newer])

    refuse("profile is outside of ingestion window (profile timestamp: #{Time.at(time)})")
  end

  def check_labels(labels)
    over(:names, labels.size) { refuse("profile series has #{labels.size} label names; limit #{@limits[:names]}") }
    refuse("invalid metric name") unless labels.to_h["__name__"].to_s.match?(/\A[A-Za-z_:][A-Za-z0-9_:]*\z/)
    names = labels.map(&:first)
    refuse("duplicate label name: #{names.tally.key(2)}") if names.uniq != names
    labels.each { |name, value| check_label(name, value) }
  end

  def check_label(name, value)
    over(:name, name.bytesize) { refuse("label name too long: #{name}") }
    over(:value, value.bytesize) { refuse("label value too long: #{name}") }
    allowed = @limits[:utf8] ? /./ : /\A[A-Za-z_][A-Za-z0-9_.]*\z/
    refuse("invalid label name '#{name}'") unless name.valid_encoding? && name.match?(allowed)
    refuse("invalid label value of '#{name}'") unless value.valid_encoding?
  end
end
