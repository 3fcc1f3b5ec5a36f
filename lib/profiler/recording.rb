# frozen_string_literal: true

module Profiler
  # The profile of one request, job or example. It contains its own fiber and those created in it, and on other threads the work
  # that is done {inside} there.
  #
  # A {Policy} starts it, which knows the limits and where results are stored. {Middleware} decides who may request a profile
  # and where a request ends.
  class Recording
    # The result of a piece of work.
    #
    # +id+ is its name in the directory or store, +reason+ +:requested+, +:sampled+ or +:slow+, +labels+ those on all of its
    # samples, +seconds+ how long it took, +location+ where the store put it.
    Result = Struct.new(:id, :profile, :reason, :labels, :seconds, :location, keyword_init: true)

    attr_reader :reason, :thread
    # The start, in seconds on the monotonic clock.
    attr_reader :began
    # The facts of the work for {Policy#describer}, and the status with which it ended.
    attr_accessor :work, :status

    def initialize(policy, reason)
      @policy = policy
      @reason = reason
      @thread = Thread.current
      @scope = Labels.new_scope
      # :beginning, :open, :handed_over to a body or a hijacked connection, :ending or :over. It is set where no exception can
      # arrive between the change and this.
      @state = :beginning
    end

    # @param source [SessionPerRequest, SlicePerRequest]
    # @yield after the start, to register the recording
    def start(source)
      source.begin(@scope) { |session| @session = session }
      @began = Clock.now
      yield
      @state = :open
    end

    # Returns whether the recording is completely finished. An exception from outside can arrive after the end was claimed.
    def over?
      @state == :over || (%i[open handed_over].include?(@state) && !@policy.deadlines.include?(self))
    end

    # Returns its name in the store, which is known before it is stored.
    def id = @id ||= @policy.new_id

    # Includes the block in the recording, on any thread and any number of times.
    def inside
      join unless Thread.current.equal?(@thread)
      # An exception from outside may arrive after enter_scope has finished, so leave runs in any case.
      before = Labels.current
      begin
        Labels.enter_scope(before, @scope)
        yield
      ensure
        Labels.leave(before)
      end
    end

    def seconds = Clock.now - @began

    # Ends the recording. A no-op when called again.
    #
    # @param labels [Hash] for all of its samples
    # @return [Result, nil] nil if it was not slow enough to be kept, or was over
    def finish(labels = {})
      took = seconds
      return unless @policy.deadlines.delete(self) # only the first caller that ends it continues

      # Inline, not in a method of its own: an exception may arrive when a method returns, and the recording would never end.
      @state = :ending
      session = @session
      @session = nil
      return session.drop unless @policy.keeps?(self, took)

      profile = session.stop
      more, early, metadata = @policy.describer.call(self)
      labels = more.merge(labels).compact
      facts = { seconds: format("%.3f", took), reason: @reason.to_s, **labels.slice(:job, :queue).transform_values(&:to_s), **metadata }
      profile = Native.with_labels(profile, labels, early, facts)
      @policy.store(Result.new(id: id, profile: profile, reason: @reason, labels: labels, seconds: took))
    ensure
      leave if session
    end

    # Ends the recording without a result, even if it did not start. A no-op if it is ending or has ended.
    #
    # @return [nil]
    def discard
      return if %i[ending over].include?(@state)

      begin
        @policy.deadlines.delete(self)
        @session&.drop
      ensure
        leave
      end
    end

    # Passes the responsibility for ending the recording to a body that is being sent, or to a hijacked connection.
    def hand_over
      @state = :handed_over if @state == :open
    end

    # Returns whether a body or a hijacked connection now owns the recording, or it ends or has finished.
    def handed_over? = %i[handed_over ending over].include?(@state)

    # Ends a recording that takes too long, and keeps it.
    def expire
      @policy.quietly { finish(cut: "after #{@policy.duration} s") }
    end

    private

    def leave
      @state = :over
      @session = nil
      @policy.limits.leave(self)
      nil
    end

    def join
      @session&.join
    rescue NotRunning
      nil # it came to its end just now
    end
  end
  private_constant :Recording
end
