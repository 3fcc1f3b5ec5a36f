# frozen_string_literal: true

require "timeout"

module Stress
  # An exception from outside. No `rescue => e` catches it.
  class Injected < Exception # rubocop:disable Lint/InheritException
    attr_reader :number

    def initialize(number = 0)
      @number = number
      super("injected #{number}")
    end
  end

  # The kind that a `rescue => e` does catch, as the exceptions of many timeouts are.
  class InjectedError < StandardError
    attr_reader :number

    def initialize(number = 0)
      @number = number
      super("injected error #{number}")
    end
  end

  INJECTED = [Injected, InjectedError].freeze

  # A thread that calls us again and again, and gets exceptions from outside at any time. Between two calls they are masked, so
  # each must come out of a call exactly once.
  class Target
    # Calls that the target goes on to make while an exception is on its way, before that counts as lost.
    PATIENCE = 100

    def initialize(name, calls, kinds: INJECTED)
      @name = name
      @calls = calls
      @kinds = kinds
      @arrived = Hash.new(0)
      @rounds = @last = 0
      @doing = nil
    end

    def start
      target = self
      Stress.worker("calls of #{@name}") { target.run }
      Stress.worker("exceptions into #{@name}") { target.inject }
    end

    # Until the time is over.
    def run
      @thread = Thread.current
      Thread.handle_interrupt(Injected => :never, InjectedError => :never) do
        until Stress.done
          round
          Stress.step
        end
      end
    rescue *INJECTED => e
      raise unless Stress.done

      @arrived[e.number] += 1 # it was on its way between two calls as the time ended
    end

    def inject
      return sleep(0.005) unless @thread

      sleep(rand < 0.5 ? rand * 0.002 : rand * 0.02)
      number = (@last += 1)
      kind = @kinds.sample
      doing = @doing
      @thread.raise(kind.new(number))
      began = @rounds # read only now: before the raise, this thread can lose its turn for more rounds than PATIENCE
      Stress.count(:injected)
      Stress.wait_for(3_600) { @arrived.key?(number) || Stress.done || lost?(began) }
      return Stress.count(:arrived) if @arrived[number] == 1

      Stress.count(:left_at_the_end) if Stress.done && !lost?(began)
      Stress.wrong("a lost exception", "#{kind} #{number}, raised in #{doing}") if lost?(began)
    end

    private

    def lost?(began) = @rounds - began > PATIENCE

    def round
      @rounds += 1
      name, call = @calls[@rounds % @calls.size]
      @doing = name
      before = PROFILED ? Profiler.labels : nil
      begin
        Thread.handle_interrupt(Injected => :immediate, InjectedError => :immediate) { call.call }
      rescue *INJECTED => e
        @arrived[e.number] += 1
        Stress.wrong("an exception that arrived twice", "#{e.message} in #{name}") if @arrived[e.number] > 1
      end
      Stress.count(name)
      after = PROFILED ? Profiler.labels : nil
      Stress.wrong("labels that outlive their block", "#{before} became #{after} by #{name}") unless before == after
    rescue StandardError => e
      Stress.wrong("a strange exception", "#{e.class}: #{e.message} in #{name}\n  #{e.backtrace.first(8).join("\n  ")}")
    end
  end

  # Threads that are killed within a call, and end.
  class Killed
    def initialize(name, calls)
      @name = name
      @calls = calls
    end

    def start
      killed = self
      Stress.worker("threads killed in #{@name}") { killed.kill_one }
    end

    def kill_one
      doing = nil
      thread = Thread.new do
        @calls.shuffle.cycle do |name, call|
          doing = name
          call.call
        end
      end
      sleep(rand * 0.01)
      at = doing
      thread.kill
      Stress.count(:killed)
      return if Stress.wait_for(HANG) { Stress.step; !thread.alive? }

      Stress.wrong("a killed thread that lives", "killed in #{at}, now in #{doing}\n  #{thread.backtrace&.first(12)&.join("\n  ")}")
    end
  end

  # Calls within Timeout.timeout, in a loop that has no other end.
  class TimedOut
    class Late < StandardError; end

    def initialize(name, calls)
      @name = name
      @calls = calls
    end

    def start
      injector = self
      Stress.worker("time-outs of #{@name}") { injector.time_out }
    end

    def time_out
      name, call = @calls.sample
      rounds = 0
      seconds = rand * 0.01
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + HANG # each thread waits for its turn, on slow machines for seconds
      begin
        Timeout.timeout(seconds, [nil, Late].sample) do
          loop do
            call.call
            Stress.step
            rounds += 1
            break if rounds > 100 && Process.clock_gettime(Process::CLOCK_MONOTONIC) > till
          end
        end
        Stress.wrong("a lost time-out", "#{seconds} s around #{name}, #{rounds} rounds")
      rescue Timeout::Error, Late
        Stress.count(:timed_out)
      end
    rescue StandardError => e
      Stress.wrong("a strange exception", "#{e.class}: #{e.message} in #{name}\n  #{e.backtrace.first(8).join("\n  ")}")
    end
  end
end
