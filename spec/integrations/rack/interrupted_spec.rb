# frozen_string_literal: true

# Time-outs around requests, as rack-timeout and servers set them: they arrive anywhere, even in the middleware.
RSpec.describe "Interrupted requests" do
  include_context "with a program"

  def interrupted(options)
    # A profile that was being stored is lost, which is said once.
    said = eq("").or eq("[profiler] a profile was lost: Profiler::Error: the request was interrupted while it was stored\n")
    program_json("rack/timeouts", options, timeout: 120, err: said)
  end

  { "that ask for a profile" => "mode: :cpu", "that are watched for being slow" => "slower_than: 60" }.each do |name, options|
    it "#{name} free their slots, and leave no session" do
      expect(interrupted(options)).to match(in_use: false, open: 0, sessions: 0, served: be > 10)
    end
  end

  it "that end before anything is known of them have a profile all the same" do
    error, kept = run_json(<<~RUBY)
      kept = []
      middleware = Profiler::Middleware.new(->(_env) { [200, {}, []] }, sample_rate: 1, out: ->(it) { kept << it.reason })
      env = { "REQUEST_METHOD" => "GET" }
      env.define_singleton_method(:[]=) { |key, value| key == Profiler::Middleware::RECORDING ? raise("interrupted") : super(key, value) }
      print_json([error { middleware.call(env) }, kept])
    RUBY
    expect([error, kept]).to eq(["RuntimeError: interrupted", ["sampled"]])
  end

  it "free their slot wherever the end of a recording is interrupted" do
    returned, kept_slots = program_json("rack/interrupted_ends")
    expect(returned).to be > 3
    expect(kept_slots).to eq([])
  end
end
