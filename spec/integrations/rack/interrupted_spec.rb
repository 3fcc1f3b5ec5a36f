# frozen_string_literal: true

# Time-outs around requests, as rack-timeout and servers set them: they arrive anywhere, also in the middleware.
RSpec.describe "Interrupted requests" do
  def interrupted(options, requests: 2_000)
    result = ruby_child("-e", <<~RUBY, timeout: 120)
      require "profiler"
      require "tmpdir"
      Interrupted = Class.new(Exception)
      Dir.mktmpdir do |directory|
        app = ->(_env) { [200, {}, [20.times.sum { |number| number.to_s.size }.to_s]] }
        middleware = Profiler::Middleware.new(app, out: directory, token: "x" * 16, rate: 1_000_000, concurrency: 4, duration: 3_600, #{options})
        env = { "REQUEST_METHOD" => "GET", "QUERY_STRING" => "profile=cpu", "HTTP_X_PROFILER_TOKEN" => "x" * 16 }
        work = lambda do
          Thread.current.report_on_exception = false
          loop { middleware.call(env.dup)[2].each { } }
        rescue Interrupted
          retry
        end
        thread = nil
        #{requests}.times do
          thread = Thread.new(&work) unless thread&.alive? # it may be hit between two requests
          sleep(rand * 0.001)
          thread.raise(Interrupted)
        end
        thread.kill
        thread.join(20) or abort "the thread did not end"
        GC.start
        100.times { |number| number.to_s }
        policy = middleware.instance_variable_get(:@policy)
        places = policy.instance_variable_get(:@limits).any?
        open = policy.instance_variable_get(:@deadlines).size
        puts "places in use \#{places}, open \#{open}, sessions \#{Profiler::Testing.sessions}"
      end
    RUBY
    expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 2_000]}"
    result.out
  end

  { "that ask for a profile" => "mode: :cpu", "that are watched for being slow" => "slower_than: 60" }.each do |name, options|
    it "#{name} free their slots, and leave no session" do
      expect(interrupted(options)).to eq("places in use false, open 0, sessions 0\n")
    end
  end
end
