# frozen_string_literal: true

module Profiler
  # Ends a program whose threads all wait for each other, as Ruby does. Ruby raises +fatal+ in the main thread once no thread can
  # wake another one. A thread of ours that waits for a client or for the end of a period hides that from Ruby, because it might
  # wake one. So these threads check it themselves from time to time.
  #
  # @api private
  module Deadlock
    # The state of a thread that only another thread can wake, at the end of Thread#to_s. An app may redefine that method.
    FOREVER = / sleep_forever>\z/.freeze
    STATE = Thread.instance_method(:to_s)
    NAME = Module.instance_method(:name)
    # The time in seconds in which a thread that was just woken gets its turn.
    PAUSE = 0.1
    # What the kernel tells about a thread that sleeps, and how often it gave the CPU away.
    SLEEPS = /^State:\tS.*^voluntary_ctxt_switches:\t(\d+)\nnonvoluntary_ctxt_switches:\t(\d+)/m.freeze
    private_constant :FOREVER, :STATE, :NAME, :PAUSE, :SLEEPS

    class << self
      # Raises +fatal+ in the main thread if all threads of the app wait for each other.
      def check
        waiting = waiting_threads or return
        turns = turns_of(waiting) or return
        # A thread that was just woken still counts as waiting, until it has run.
        Thread.pass
        Clock.nap(PAUSE)
        Thread.pass
        Thread.main.raise(fatal, message(waiting)) if waiting_threads == waiting && turns_of(waiting) == turns
      end

      private

      # Returns the threads of the app, or nil if one of them can go on, or one of ours can wake them.
      def waiting_threads
        return if Ractor.count > 1

        own, others = Thread.list.partition { |thread| BackgroundThread === thread }
        others if own.none?(&:calls_app?) && others.all? { |thread| FOREVER.match?(STATE.bind_call(thread)) }
      end

      # Returns how often each thread gave the CPU away, or nil if one has it, or that is unknown.
      def turns_of(threads)
        turns = threads.map { |thread| SLEEPS.match(File.read("/proc/self/task/#{thread.native_thread_id}/status"))&.captures }
        turns if turns.all?
      rescue SystemCallError
        nil
      end

      # Ruby's class of that name, for which there is no constant.
      def fatal = Exception.subclasses.find { |it| NAME.bind_call(it) == "fatal" }

      def message(threads)
        stacks = threads.map { |thread| ["* #{STATE.bind_call(thread)}", *thread.backtrace&.map { |line| "   #{line}" }] }
        ["No live threads left. Deadlock?", "#{threads.size} threads, #{threads.size} sleeps", *stacks].join("\n")
      end
    end
  end
end
