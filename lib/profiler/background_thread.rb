# frozen_string_literal: true

module Profiler
  # A thread of the profiler's own. No session profiles it, and its CPU time counts as the profiler's. Defined by the extension, which
  # knows such threads by their class from their first instant on.
  #
  # An app may treat all threads of +Thread.list+ alike. If it joins them, it does not wait for this one: most of these threads end
  # with the process, and {Ends} gives the others their time. If it kills them, this one ends, and its owner starts another one
  # after the next garbage collection.
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

    # Returns at once, even if the thread runs. Waits only for a thread that was killed.
    #
    # @param limit [Numeric, nil] seconds
    # @return [self, nil] as Thread#join
    def join(limit = nil) = @killed ? ended_within?(limit) : self

    # Returns at once, even if the thread runs.
    #
    # @return [nil]
    def value = nil

    # @param name [String]
    # @param revival [#call, nil] called after the next garbage collection if the thread was killed
    # @yield the work of the thread
    def initialize(name, revival: nil)
      super() do
        Native.own_thread_begins
        self.name = name
        Fiber.current.storage&.each_key { |key| Fiber[key] = nil } if Fiber.respond_to?(:[]) # or it would keep what a request had
        self.report_on_exception = self.abort_on_exception = false
        yield
        ended = true
      ensure
        Native.own_thread_ends
        ObjectSpace.define_finalizer(Object.new, Revival.new(revival)) unless ended || revival.nil?
      end
      thread_variable_set(:fork_safe, true) # for Puma, which warns of others, and may ask before this one had its first turn
    end

    # Calls the owner of a thread that was killed, which starts another. It runs as a finalizer, after the next garbage collection, so
    # an app that kills its threads and waits until none is left does not wait forever.
    Revival = Struct.new(:owner) do
      def call(_id)
        owner.call
      rescue *RESCUED_ERRORS => e
        Losses.warn("a thread that was killed could not be started again: #{Losses.reason(e)}")
      end
    end
    private_constant :Revival
  end
end
