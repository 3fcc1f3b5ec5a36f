# frozen_string_literal: true

# Time-outs around requests, as rack-timeout and servers set them: they arrive anywhere, also in the middleware.
RSpec.describe "Interrupted requests" do
  include_context "with a program"

  def interrupted(options, requests: 2_000)
    # A profile that was being stored is lost, which is said once.
    said = eq("").or eq("[profiler] a profile was lost: Profiler::Error: the request was interrupted while it was stored\n")
    run_json(<<~RUBY, timeout: 120, err: said)
      require "tmpdir"
      Thread.report_on_exception = false # a thread may be hit before it has begun
      Interrupted = Class.new(Exception)
      Dir.mktmpdir do |directory|
        app = ->(_env) { [200, {}, [20.times.sum { |number| number.to_s.size }.to_s]] }
        middleware = Profiler::Middleware.new(app, out: directory, token: "x" * 16, rate: 1_000_000, concurrency: 4, duration: 3_600, #{options})
        env = { "REQUEST_METHOD" => "GET", "QUERY_STRING" => "profile=cpu", "HTTP_X_PROFILER_TOKEN" => "x" * 16 }
        served = 0
        work = lambda do
          loop { middleware.call(env.dup)[2].each { }; served += 1 }
        rescue Interrupted
          retry
        end
        thread = nil
        #{requests}.times do
          thread = Thread.new(&work) unless thread&.alive? # it may be hit between two requests
          sleep(rand * 0.004) # a request whose profile is written takes 1 to 4 ms, as the disk goes
          thread.raise(Interrupted)
        end
        thread.kill
        thread.join(20) or abort "the thread did not end"
        GC.start
        100.times { |number| number.to_s }
        wait_for { Dir.children(directory).none? { |name| name.end_with?(".tmp") } } # a native thread may still write the last one
        policy = middleware.instance_variable_get(:@policy)
        print_json(in_use: policy.instance_variable_get(:@limits).any?, open: policy.instance_variable_get(:@deadlines).size,
                   sessions: Profiler::Testing.sessions, served: served)
      end
    RUBY
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
    returned, kept_slots = run_json(<<~RUBY)
      Profiler::Middleware # loads the rest
      policy = Profiler::Recording::Policy.new(mode: :cpu, rate: 1_000_000, concurrency: 1, out: ->(_result) {})
      finish = lambda do |at|
        returns = 0
        trace = TracePoint.new(:return) do |it|
          next unless it.path.include?("/lib/profiler/")
          (trace.disable; raise Interrupt, "from outside") if (returns += 1) == at
        end
        policy.guarded do |begun|
          recording = policy.on_demand({}, begun)
          trace.enable(target_thread: Thread.current) { recording.finish }
        end
        returns
      rescue Interrupt
        returns
      end
      all = finish.call(0)
      kept_slots = (1..all).select { |at| finish.call(at); policy.limits.any? && policy.limits.start_over }
      print_json([all, kept_slots])
    RUBY
    expect(returned).to be > 3
    expect(kept_slots).to eq([])
  end
end
