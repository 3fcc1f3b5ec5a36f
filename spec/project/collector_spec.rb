# frozen_string_literal: true

require_relative "../support/collector"

# Specs of uploads compare with what it says it received, so this has to be what was sent.
RSpec.describe "The OpenTelemetry Collector of the specs" do
  include Tools
  include_context "with a box"

  # As the public description of the format has it. A message in JSON names its ids in hex.
  let(:request) do
    text = ->(value) { { stringValue: value } }
    profile = {
      sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 1, unitStrindex: 2 }, period: "10000000",
      timeUnixNano: "1790000000000000000", durationNano: "10000000000", profileId: "000102030405060708090a0b0c0d0e0f",
      samples: [{ stackIndex: 1, values: ["70"], attributeIndices: [1, 2], linkIndex: 1 }, { stackIndex: 2, values: ["5"] }]
    }
    { resourceProfiles: [{ resource: { attributes: [{ key: "service.name", value: text["shop"] }, { key: "process.pid", value: { intValue: "42" } }] },
                           scopeProfiles: [{ scope: { name: "profiler" }, profiles: [profile] }] }],
      dictionary: {
        mappingTable: [{}], linkTable: [{}, { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }],
        stringTable: ["", "cpu", "nanoseconds", "Shop#serve", "<main>", "endpoint", "thread.id"],
        functionTable: [{}, { nameStrindex: 3 }, { nameStrindex: 4 }],
        locationTable: [{}, { lines: [{ functionIndex: 1, line: "7" }] }, { lines: [{ functionIndex: 2, line: "9" }] }],
        stackTable: [{}, { locationIndices: [1, 2] }, { locationIndices: [2] }],
        attributeTable: [{}, { keyStrindex: 5, value: text["cart#show"] }, { keyStrindex: 6, value: { intValue: "9" } }]
      } }
  end

  def send_to(collector, body, headers = {})
    Net::HTTP.post(URI("#{collector.url}/v1development/profiles"), body, { "Content-Type" => "application/json" }.merge(headers)).code
  end

  it "tells what it received, also before it was killed" do
    Collector.open(in_box("collector"), need_collector) do |collector|
      expect(send_to(collector, JSON.generate(request))).to eq "200"
      collector.stop(:KILL)
      expect { send_to(collector, "{}") }.to raise_error(Errno::ECONNREFUSED)
      collector.start
      expect(send_to(collector, Zlib.gzip(JSON.generate(request)), "Content-Encoding" => "gzip")).to eq "200"
      collector.stop(:KILL)

      profile = { resource: { "service.name" => "shop", "process.pid" => 42 }, scope: "profiler", sample_type: %w[cpu nanoseconds],
                  period_type: %w[cpu nanoseconds], period: 10_000_000, time: 1_790_000_000_000_000_000, duration: 10_000_000_000, attributes: {} }
      samples = [[%w[Shop#serve <main>], 70, { "endpoint" => "cart#show", "thread.id" => 9 }, %w[0af7651916cd43dd8448eb211c80319c b7ad6b7169203331]],
                 [%w[<main>], 5, {}, []]]
      expect(collector.profiles.map { |profile| profile.to_h.merge(samples: profile.samples.map(&:to_a)) }).to eq [profile.merge(samples: samples)] * 2
    end
  end

  it "refuses data that is not a request" do
    Collector.open(in_box("collector"), need_collector) do |collector|
      expect(send_to(collector, "{")).to eq "400"
      expect(send_to(collector, "\xff", "Content-Type" => "application/x-protobuf")).to eq "400"
      expect(send_to(collector, "{}", "Content-Type" => "text/plain")).to eq "415"
      expect(Net::HTTP.post(URI("#{collector.url}/v1/profiles"), "{}", "Content-Type" => "application/json").code).to eq "404"
    end
  end
end
