# frozen_string_literal: true

require "tmpdir"
require "fileutils"
require_relative "../../support/open_telemetry"

module Stress
  # Calls of the profiler, by name, as an app makes them. Each cleans up after itself as an app would, and none waits long.
  module Calls
    FILES = Dir.mktmpdir("stress")
    pid = Process.pid
    at_exit { FileUtils.rm_rf(FILES) if Process.pid == pid }

    class << self
      # Ruby 3.1 dies where a thread is killed that waits for another one to load what both need.
      def load_all
        [Profiler, Profiler::Middleware].each { |item| item.constants.each { |name| item.const_get(name) } }
      end

      def plain = { "plain work" => -> { Stress.work(20) } }

      def labels
        {
          "label" => -> { Profiler.label(request: rand(20)) { Stress.work(5) } },
          "labels in labels" => -> { Profiler.label(a: 1) { Profiler.label({ "b" => rand(6_000).to_s, a: nil }) { Profiler.labels } } },
          "label that leaves by throw" => -> { catch(:out) { Profiler.label(a: 2) { throw(:out) } } },
          "label on fibers" => lambda do
            fibers = Array.new(3) { |number| Fiber.new { Profiler.label(fiber: number) { 3.times { Fiber.yield(Stress.work(2)) } } } }
            4.times { fibers.each(&:resume) }
          end,
          "label in an enumerator" => lambda do
            numbers = Enumerator.new { |out| Profiler.label(each: 1) { 3.times { |number| out << number } } }
            3.times { numbers.next }
          end,
          "spans" => lambda do
            OpenTelemetry.in_span { Stress.work(1); Fiber.new { OpenTelemetry.in_span { Stress.work(1) } }.resume; OpenTelemetry.in_span { Stress.work(1) } }
          ensure
            OpenTelemetry::Context.clear # an exception can come between attach and detach
          end,
          "marker" => -> { Profiler.marker("import") { Stress.work(2) } }
        }
      end

      def blocks
        {
          "run" => -> { Profiler.run(**Stress.view) { Stress.work(20) } },
          "run that leaves by break" => -> { [1].each { Profiler.run(**Stress.view) { break } } },
          "run on this thread" => -> { Profiler.run(threads: :current, **Stress.view) { Stress.work(20) } },
          "run with labels" => -> { Profiler.run(labels: { a: 1 }, **Stress.view) { Profiler.label(a: 1) { Stress.work(10) } } },
          "run that is written" => -> { Profiler.run(out: "#{FILES}/#{Thread.current.object_id}.pb.gz", **Stress.view) { Stress.work(10) } },
          "allocations_of" => -> { Profiler.allocations_of { Stress.work(2) } }
        }
      end

      def sessions
        with = lambda do |&used|
          session = nil
          begin
            session = Profiler::Session.start(**Stress.view)
            used.call(session)
          ensure
            session&.discard
          end
        end
        {
          "start and discard" => -> { with.call { |_session| Stress.work(2) } },
          "start and stop" => -> { with.call { |session| session.stop } },
          "snapshot" => -> { with.call { |session| session.snapshot } },
          "rotate" => -> { with.call { |session| 2.times { session.rotate } } },
          "pause and resume" => -> { with.call { |session| session.pause.resume } },
          "Profiler.start and stop" => lambda do
            Profiler.start(**Stress.view)
            Profiler.stop
          rescue Profiler::NotRunning
            nil # another thread stopped it
          end
        }
      end

      def results
        result = Profiler.run(mode: :cpu, interval: 50, timeline: true) { Stress.work(20_000) }
        written = result.to_pprof
        path = -> { "#{FILES}/saved#{Thread.current.object_id}.#{%w[pb.gz svg json folded].sample}" }
        {
          "save" => -> { result.save(path.call) },
          "dump" => -> { result.dump(%i[pprof speedscope firefox text].sample) },
          "samples" => -> { result.samples.first(3).map { |sample| sample.frames.map(&:name) } },
          "parse" => -> { Profiler.const_get(:Native).parse(written) },
          "merge" => -> { result.merge(result) },
          "name_of" => -> { Profiler.name_of([method(:puts), Kernel.instance_method(:puts), Class.new { def a = 1 }.instance_method(:a)].sample) }
        }
      end

      def requests
        environment = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "", "rack.url_scheme" => "http" }
        kept = ->(_result) {}
        policy = POLICIES[:policy] = Profiler.const_get(:Recording)::Policy.new(mode: :cpu, sample_rate: 1, concurrency: 8, rate: 1_000_000, duration: 1, out: kept)
        app = ->(_env) { [200, {}, [Stress.work(5).to_s]] }
        web = POLICIES[:web] = Profiler::Middleware.new(app, slower_than: 0, sample_rate: 0.5, rate: 1_000_000, duration: 1, out: kept)
        asks = environment.merge("QUERY_STRING" => "profile=cpu", "REMOTE_ADDR" => "127.0.0.1")
        denied = [->(_env) { throw(:out) }, ->(_env) { raise NotImplementedError }].map { |permit| Profiler::Middleware.new(app, permit: permit, out: kept) }
        {
          "request" => -> { web.call(environment.dup) },
          "request that nobody permits" => lambda do
            answer = catch(:out) { denied.sample.call(asks.dup) }
            Stress.wrong("a request that its permission ended", answer.inspect) unless answer in [200, Hash, _]
          end,
          "recording" => lambda do
            recording = policy.by_chance
            begin
              recording&.inside { Stress.work(5) }
            ensure
              recording&.finish
            end
          end,
          "recording on another thread" => lambda do
            recording = policy.by_chance
            begin
              Thread.new { recording&.inside { Stress.work(2) } }.join
            ensure
              recording&.finish
            end
          end
        }
      end

      def all = { **labels, **blocks, **sessions, **results, **requests }

      # Requests free their slots, at the latest when their time is over.
      def check_requests
        policies = POLICIES.map { |name, policy| [name, policy.is_a?(Profiler::Middleware) ? policy.instance_variable_get(:@policy) : policy] }
        policies.each do |name, policy|
          limits = policy.instance_variable_get(:@limits)
          open = policy.instance_variable_get(:@deadlines)
          Stress.wait_for(5) { !limits.any? && open.size.zero? }
          # One that is over leaves its place at the next request, if an exception kept it from doing so.
          inside = limits.instance_variable_get(:@inside).keys.reject(&:over?)
          Stress.wrong("places that were not given back", "#{inside.map { |it| it.instance_variable_get(:@state) }} of #{name}") unless inside.empty?
          Stress.wrong("recordings that never ended", "#{open.size} of #{name}") unless open.size.zero?
        end
      end
    end
    load_all if PROFILED
    POLICIES = {} # rubocop:disable Style/MutableConstant
  end
end
