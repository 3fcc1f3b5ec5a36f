# frozen_string_literal: true

module Profiler
  module InApp
    # What a piece of work gave.
    #
    # +id+ is its name in the directory or store, +reason+ +:asked+, +:sampled+ or +:slow+, +labels+ what stands on all of its
    # samples, +seconds+ how long it took, +location+ what the store says where it is.
    Result = Struct.new(:id, :profile, :reason, :labels, :seconds, :location, keyword_init: true)

    # The profile of one request, job or example: of its own fiber and those made in it, and on other threads of what is done
    # {inside} there.
    class Recording
      attr_reader :reason, :thread
      # When, on the monotonic clock, seconds.
      attr_reader :began

      # @param policy [Policy]
      # @param options [Hash, Session::Prepared] as for {Profiler.start}, or {Session.prepared}
      def initialize(policy, options, reason)
        @policy = policy
        @reason = reason
        @thread = Thread.current
        @scope = Labels.new_scope
        @session = Session.begin(options, bound: true, scope: @scope)
        @began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # Its name in the store, before it is there.
      def id
        @id ||= @policy.new_id
      end

      # What the block does is part of it. On whatever thread, as often as it takes.
      def inside
        join unless Thread.current.equal?(@thread)
        # What enter_scope raises may have arrived when it was done, so leave undoes it in any case.
        before = Labels.current
        begin
          Labels.enter_scope(before, @scope)
          yield
        ensure
          Labels.leave(before)
        end
      end

      def seconds
        Process.clock_gettime(Process::CLOCK_MONOTONIC) - @began
      end

      # It is over. The second time nothing happens.
      #
      # @param labels [Hash] for all of its samples
      # @yieldreturn [Hash] these, if it takes long to find them: asked for only where the profile is kept
      # @return [Result, nil] nil if it was not slow enough to be kept, or was over
      def finish(labels = {})
        took = seconds
        session = take or return
        return session.discard unless @policy.keeps?(@reason, took)

        begin
          profile = session.stop
          labels = (block_given? ? yield : labels).compact
          profile = profile.send(:_with_labels, labels) unless labels.empty?
          @policy.store(Result.new(id: id, profile: profile, reason: @reason, labels: labels, seconds: took))
        ensure
          @policy.leaves(self)
        end
      end

      # It never was.
      def discard
        session = take or return
        @discarded = true
        session.discard
        @policy.leaves(self)
      end

      def discarded? = @discarded ? true : false

      # It takes too long: what there is is kept.
      def expire
        @policy.quietly { finish(cut: "after #{@policy.duration} s") }
      end

      private

      def take
        return unless @policy.ends?(self)

        session = @session
        @session = nil
        session
      end

      def join
        @session&.join
      rescue NotRunning
        nil # it came to its end just now
      end
    end
  end
end
