# frozen_string_literal: true

module Profiler
  # The profile of one request, job or example: of its own fiber and those created in it, and on other threads of what is done
  # {inside} there.
  class Recording
    # The result of a piece of work.
    #
    # +id+ is its name in the directory or store, +reason+ +:asked+, +:sampled+ or +:slow+, +labels+ those on all of its
    # samples, +seconds+ how long it took, +location+ where the store put it.
    Result = Struct.new(:id, :profile, :reason, :labels, :seconds, :location, keyword_init: true)

    attr_reader :reason, :thread
    # When, on the monotonic clock, seconds.
    attr_reader :began

    # @param policy [Policy]
    def initialize(policy, reason)
      @policy = policy
      @reason = reason
      @thread = Thread.current
      @scope = Labels.new_scope
      # :beginning, :open, :ending or :over. Set where nothing can arrive between what it says and the change.
      @phase = :beginning
    end

    # @param options [Hash, Session::Prepared] as for {Profiler.start}, or {Session.prepared}
    # @yield when it has begun, to make it known
    def start(options)
      Session.begin(options, bound: true, scope: @scope) { |session| @session = session }
      @began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      yield
      @phase = :open
    end

    # Whether nothing of it is left to be done.
    def over?
      @phase == :over || (@phase == :open && !@policy.open?(self))
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
      @phase = :ending
      return session.discard unless @policy.keeps?(self, took)

      profile = session.stop
      labels = (block_given? ? yield : labels).compact
      profile = profile.send(:_with_labels, labels) unless labels.empty?
      @policy.store(Result.new(id: id, profile: profile, reason: @reason, labels: labels, seconds: took))
    ensure
      leave if session
    end

    # It never was.
    def discard
      session = take or return
      @discarded = true
      session.discard
    ensure
      leave if session
    end

    # Somebody else ends it, later: a body that is sent, or a connection that the app has taken.
    #
    # @return [self]
    def hand_over
      @handed_over = true
      self
    end

    def handed_over? = @handed_over ? true : false

    # It was not to begin, or an exception kept it from being ended. Does nothing if it is over.
    #
    # @return [nil]
    def abandon
      @phase = :over
      @policy.ends?(self)
      @session&.discard
      nil
    ensure
      leave
    end

    def discarded? = @discarded ? true : false

    # It takes too long: what there is is kept.
    def expire
      @policy.quietly { finish(cut: "after #{@policy.duration} s") }
    end

    private

    # For the first that ends it.
    def take
      return unless @policy.ends?(self)

      session = @session
      @session = nil
      session
    end

    def leave
      @phase = :over
      @session = nil
      @policy.leaves(self)
    end

    def join
      @session&.join
    rescue NotRunning
      nil # it came to its end just now
    end
  end
end
