# frozen_string_literal: true

module Profiler
  # A thread of the profiler's own. No session profiles it, and its CPU time counts as the profiler's. Defined by the extension, which
  # knows such threads by their class from their first instant on.
  #
  # An app that joins all threads of +Thread.list+ when it shuts down does not wait for it: most of these threads end with the
  # process, and {Ends} gives the others their time.
  #
  # @api private
  class BackgroundThread
    alias ended_within? join

    # Ends the thread.
    #
    # @return [self]
    def kill
      @killed = true
      super
    end
    alias exit kill
    alias terminate kill

    # Returns at once, also if the thread runs. Only a thread that was killed is waited for.
    #
    # @param limit [Numeric, nil] seconds
    # @return [self, nil] as Thread#join
    def join(limit = nil) = @killed ? ended_within?(limit) : self

    # Returns at once, also if the thread runs.
    #
    # @return [nil]
    def value = nil

    # @param name [String]
    # @yield the work of the thread
    def initialize(name)
      super() do
        Native.own_thread_begins
        self.name = name
        Fiber.current.storage&.each_key { |key| Fiber[key] = nil } if Fiber.respond_to?(:[]) # or it would keep what a request had
        self.report_on_exception = self.abort_on_exception = false
        yield
      ensure
        Native.own_thread_ends
      end
      thread_variable_set(:fork_safe, true) # for Puma, which warns of others, and may ask before this one had its first turn
    end
  end
end
