# frozen_string_literal: true

require_relative "contenders"
require_relative "truths"

# Measures how far a profile is from the truth that the program kept of itself (truths.rb). One process, one run, one profiler.
module Bench
  module Accuracy
    # An aggregated sample of a profile: the names of its stack's methods, outermost first, whether it is GC, its weight (in
    # any unit, as only shares are compared) and its number of samples.
    Row = Struct.new(:methods, :gc, :weight, :samples)

    WORK = File.expand_path("truths.rb", __dir__)

    # This gem, with the engine that it chooses.
    class Ours
      def initialize(mode, only)
        require "profiler"
        @mode = mode
        @only = only
      end

      def start
        @session = Profiler.start(mode: @mode, interval: INTERVAL_US)
      end

      def stop
        profile = @session.stop
        @engine = profile.meta[:engine]
        profile.samples.select { |row| @only.nil? || @only == row.state }.map do |row|
          methods = row.frames.reverse.select { |frame| frame.path == WORK }.map(&:method_name)
          Row.new(methods, row.state == :gc, row.public_send(@mode), row.count)
        end
      end

      attr_reader :engine
    end

    # The peer. Its samples weigh all the same, and GC is a stack of its own.
    class Stackprof
      def initialize(mode, _only)
        require "stackprof"
        @mode = mode
      end

      def start
        StackProf.start(mode: @mode, interval: INTERVAL_US, raw: true)
      end

      def stop
        StackProf.stop
        results = StackProf.results
        frames = results[:frames].transform_values { |frame| [frame[:name], frame[:file] == WORK] }
        each_stack(results[:raw] || []).map do |stack, count|
          named = stack.map { |id| frames.fetch(id) }
          methods = named.select(&:last).map { |name, _ours| name[/\w+[?!]?\z/] }
          Row.new(methods, named.any? { |name, _ours| name == "(garbage collection)" }, count, count)
        end
      end

      def engine
        "stackprof #{StackProf::VERSION}"
      end

      private

      # The raw form is a sequence of: a length, as many frames from the outermost on, and a count.
      def each_stack(raw)
        return enum_for(:each_stack, raw) unless block_given?

        at = 0
        while at < raw.size
          length = raw[at]
          yield raw[at + 1, length], raw[at + 1 + length]
          at += length + 2
        end
      end
    end

    PROFILERS = { "ours" => Ours, "stackprof" => Stackprof }.freeze

    # The cases: the program, the mode, and the state whose time counts (nil: all).
    RUNNING = {
      "mixed, cpu" => ["mixed", :cpu, nil], "mixed, wall" => ["mixed", :wall, :running],
      "threads, cpu" => ["threads", :cpu, nil], "threads, wall" => ["threads", :wall, :running]
    }.freeze
    MEASURED = { "gc, wall" => ["gc", :wall, nil], "blocking, wall" => ["blocking", :wall, nil] }.freeze
    CASES = RUNNING.merge(MEASURED).freeze
    BUSY = CASES.keys.grep(/wall/).grep_v(/blocking/).freeze # their truth needs a process that has a CPU for itself

    module_function

    # The true shares, those of the profile, the samples that these rest on, and how much of a CPU the process had.
    def measure(name, profiler, seed, seconds)
      program, mode, state = CASES.fetch(name)
      contender = PROFILERS.fetch(profiler).new(mode, state)
      work = Truths::ALL.fetch(program).new(Random.new(seed), mode)
      contender.start
      before = [Truths.process_cpu, Truths.wall]
      truth = work.run(seconds)
      cpu, wall = [Truths.process_cpu, Truths.wall].zip(before).map { |after, then_| after - then_ }
      rows = contender.stop
      seen = work.kinds.to_h { |kind| [kind, [0, 0]] }
      rows.each do |row|
        sums = seen[kind_of(row, work.kinds)] or next # time outside of the known work has no truth to compare with
        sums[0] += row.weight
        sums[1] += row.samples
      end
      { truth: shares(truth), seen: shares(seen.transform_values(&:first)), samples: seen.values.sum(&:last),
        had: cpu / wall, engine: contender.engine }
    end

    def kind_of(row, kinds)
      outermost = row.methods.find { |method| Work.respond_to?(method) }&.to_sym
      return outermost unless kinds.include?(:gc)
      return :gc if row.gc

      :rest if outermost
    end

    def shares(parts)
      sum = parts.values.sum.to_f
      parts.transform_values { |part| sum.zero? ? 0.0 : part / sum }
    end
  end
end
