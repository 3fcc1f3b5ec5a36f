# frozen_string_literal: true

RSpec.describe "Profiler.metrics" do
  include_context "with a program"

  let(:prelude) { <<~'RUBY' }
    # A sink of a continuous session.
    class Kept < Profiler.const_get(:Sinks)::Plain
      attr_reader :name, :counts
      def initialize(name, counts) = super(->(_profile) {}).then { @name, @counts = name, counts }
    end
    METRICS = Profiler.const_get(:Metrics)
  RUBY

  # The exposition format as its documentation has it: types, and numbers by name and labels. Raises for what is not valid.
  def parse(text)
    raise "no line break at the end" unless text.end_with?("\n")

    types, helps, values = {}, {}, {}
    text.each_line(chomp: true) do |line|
      case line
      when /\A# HELP ([a-zA-Z_:][\w:]*) ([^\\\n]*)\z/ then helps.key?($1) ? raise("twice: #{line}") : helps[$1] = $2
      when /\A# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge)\z/ then types.key?($1) || values.keys.any? { |name, _| name == $1 } ? raise("late: #{line}") : types[$1] = $2
      when /\A([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\["\\n])*",?)*)\})? ([-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|Inf|NaN))\z/
        name, labels, number = $1, $2, $3
        raise "between those of others: #{line}" if values.keys.any? { |value, _| value == name } && values.keys.last[0] != name
        raise "a counter by another name: #{line}" if types.fetch(name) == "counter" && !name.end_with?("_total")

        labels = labels.to_s.scan(/(\w+)="((?:[^"\\]|\\.)*)"/).to_h { |key, value| [key, value.gsub(/\\(.)/) { $1 == "n" ? "\n" : $1 }] }
        raise "twice: #{line}" if values.key?([name, labels])

        values[[name, labels]] = Float(number)
      else raise "not valid: #{line.inspect}"
      end
    end
    raise "not described" unless helps.keys == types.keys && (values.keys.map(&:first).uniq - types.keys).empty?

    values
  end

  it "are numbers of this process, whether or not anything runs" do
    before, during, after, text = run_json(<<~'RUBY')
      before = Profiler.metrics
      one, two = Profiler.start(frequency: 250), Profiler.start(mode: :wall, interval: 10_000)
      burn(300)
      during = Profiler.metrics
      two.discard
      one.stop
      print_json([before, during, Profiler.metrics, METRICS.text])
    RUBY
    expect(before).to include(profiler_sessions: 0, profiler_continuous: 0, profiler_samples_total: 0)
    expect(before).not_to include(:profiler_interval_seconds)
    expect(during).to include(profiler_sessions: 2, profiler_interval_seconds: 0.004, profiler_samples_total: be_between(10, 1_000))
    expect(during[:profiler_cpu_seconds_total].values).to all(be_between(0, 0.3))
    expect(during[:profiler_cpu_seconds_total].values.sum).to be_positive
    expect(after).to include(profiler_sessions: 0, profiler_samples_total: be >= during[:profiler_samples_total])
    expect(after).not_to include(:profiler_interval_seconds)
    values = parse(text)
    expect(values).to include(["profiler_sessions", {}] => 0, ["profiler_samples_total", {}] => after[:profiler_samples_total])
    expect(values.keys.find { |name, _| name == "profiler_info" }[1]).to match("version" => match(/\A\d+\.\d+\.\d+/), "ruby" => RUBY_VERSION, "engine" => "ruby")
  end

  it "are those of each sink, under names that differ" do
    metrics, text = run_json(<<~'RUBY').then { |entry| [entry[0], entry[1]] }
      counts = { delivered: 1, lost: 2, retried: 3, bytes: 4, waiting: 5, waiting_bytes: 6, other: 7 }
      sinks = [Kept.new("pyroscope", counts), Kept.new("pyroscope", counts.transform_values { |it| it * 10 }), Kept.new("odd \\ \" \n name", { delivered: 1, lost: 0 })]
      Profiler::Continuous.start(sinks, 60, { mode: :cpu })
      metrics = Profiler.metrics.slice(*METRICS::KNOWN.keys.grep(/windows|sent|continuous/)).transform_values { |it| it.is_a?(Hash) ? it.to_h { |labels, number| [labels.fetch(:sink), number] } : it }
      print_json([metrics, METRICS.text])
    RUBY
    odd = :"odd \\ \" \n name"
    both = ->(number) { { pyroscope: number, "pyroscope 2": number * 10 } }
    expect(metrics).to eq(profiler_continuous: 1, profiler_windows_delivered_total: both[1].merge(odd => 1), profiler_windows_retried_total: both[3],
                          profiler_windows_lost_total: both[2].merge(odd => 0, none: 0), profiler_windows_waiting: both[5], profiler_windows_waiting_bytes: both[6],
                          profiler_sent_bytes_total: both[4])
    expect(parse(text)).to include(["profiler_windows_delivered_total", { "sink" => odd.to_s }] => 1, ["profiler_sent_bytes_total", { "sink" => "pyroscope 2" }] => 40)
  end

  it "count windows that were delivered and lost" do
    delivered, lost = run_json(<<~'RUBY', err: start_with("[profiler] a profile was lost: RuntimeError: no"))
      failing = false
      # A period without a sample does not count as a window, so the interval must not be widened.
      continuous = Profiler.continuous(mode: :cpu, period: 60, max_overhead: nil) { failing ? raise("no") : nil }
      2.times { burn(100); continuous.flush }
      failing = true
      burn(100)
      continuous.flush
      print_json(Profiler.metrics.values_at(:profiler_windows_delivered_total, :profiler_windows_lost_total).map { |it| it.to_h { |labels, number| [labels.fetch(:sink), number] } })
    RUBY
    expect([delivered, lost]).to eq([{ block: 2 }, { block: 1, none: 0 }])
  end

  it "start from zero in a forked child, and never fall in a process" do
    result = run_json(<<~'RUBY')
      totals = -> { Profiler.metrics.then { |it| [it[:profiler_samples_total], *it[:profiler_cpu_seconds_total].values] } }
      session = Profiler.start(mode: %i[cpu wall], interval: 1_000)
      burn(200)
      parent = totals.call
      child = in_fork { totals.call }
      readings = []
      stop = false
      reader = Thread.new { (readings << totals.call; sleep 0.0002) until stop }
      200.times { Thread.new { spin(1) }.join }
      stop = true
      reader.join
      print_json(parent: parent, child: child, falls: readings.transpose.map { |it| it.each_cons(2).count { |before, after| after < before } }, readings: readings.size)
    RUBY
    expect(result[:child].zip(result[:parent])).to all(satisfy { |child, parent| child < parent || parent.zero? })
    expect(result).to include(falls: [0, 0, 0], readings: be > 20)
  end

  it "are refused in other Ractors" do
    expect(run_json(<<~'RUBY', err: be_a(String))).to start_with("Profiler::Unsupported: this is not the main Ractor")
      print_json(Ractor.new { Profiler.metrics.to_s rescue "#{$!.class}: #{$!.message}" }.then { |it| it.respond_to?(:take) ? it.take : it.value })
    RUBY
  end
end
