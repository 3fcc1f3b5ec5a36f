# frozen_string_literal: true

module Profiler
  # A function at a line.
  #
  # * +name+ is the qualified name (+Foo#bar+, +Foo.bar+, +<main>+); +class_name+ and +method_name+ are its parts, empty where
  #   there is none.
  # * +path+ is the file: +<cfunc>+ for C, empty for synthetic frames.
  # * +line+ is the executed line, 0 where there is none.
  # * +kind+ is +:ruby+, +:cfunc+, or +:synthetic+ for frames of the profiler's own.
  Frame = Struct.new(:name, :class_name, :method_name, :path, :line, :kind, keyword_init: true) do
    def to_s
      line.zero? ? name : "#{name} (#{path}:#{line})"
    end
  end

  # A named interval or instant of the app. +started_at+ is a Time, +duration+ nanoseconds (0 for an instant).
  Marker = Struct.new(:name, :thread_id, :thread_name, :started_at, :duration, keyword_init: true)

  # An aggregated sample: a stack of a thread, with its weights. +frames+ are leaf first, times are nanoseconds, and a weight
  # that was not measured is 0.
  #
  # * +alloc_objects+ were allocated here, of the class in the label +class+, in slots of +alloc_bytes+.
  # * +inuse_objects+ and +inuse_bytes+ of these are live; they are in samples of their own with the label +age+.
  # * +gvl_blame+ is how long the thread in the label +waiter+ waited for the GVL while this stack held it.
  Sample = Struct.new(
    :frames, :thread_id, :thread_name, :state, :labels,
    :count, :cpu, :wall, :gvl_wait, :gc, :gvl_blame, :alloc_objects, :alloc_bytes, :inuse_objects, :inuse_bytes,
    keyword_init: true
  ) do
    # @api private
    def self.all_of(profile)
      fields = Frame.members
      frames, rows = Native.rows(profile)
      frames.map! { |values| Frame.new(**fields.zip(values).to_h).freeze }
      rows.map do |stack, thread_id, thread_name, state, labels, weights|
        new(frames: stack.map { |place| frames[place] }, thread_id: thread_id, thread_name: thread_name,
            state: state, labels: labels, **WEIGHTS.zip(weights).to_h).freeze
      end
    end
  end
  # The weights, in the order of the extension.
  WEIGHTS = Sample.members.drop(Sample.members.index(:count)).freeze
  private_constant :WEIGHTS

  # A part of an aggregated sample, and when the sample got it. +time+ is in nanoseconds since the start of the profile, at the
  # end of the time that the event weighs. All else is as in a {Sample}: frames, thread, state and labels are those of the
  # sample, weights are the event's own. A wait for the GVL is two events, +:waiting+ and +:gvl+. Time without a CPU is an event
  # of its own, +:runnable+, with +count+ 0. Any other event with +count+ 0 is the remaining time that was attributed when its
  # thread ended, or when the session stopped observing it.
  TimelineEvent = Struct.new(:time, *Sample.members, keyword_init: true) do
    # Yields the events of a profile. Those of one sample share everything but time and weights.
    #
    # @yieldparam event [TimelineEvent]
    # @api private
    def self.each_of(profile)
      samples = profile.samples.map { |it| new(**it.to_h).tap { |event| [event.frames, event.labels, event.thread_name].each(&:freeze) } }
      chunk = -1
      while (numbers = Native.timeline_chunk(profile, chunk += 1))
        numbers.each_slice(2 + WEIGHTS.size) do |time, index, *shares|
          event = samples[index].dup
          event.time = time
          WEIGHTS.zip(shares) { |name, share| event[name] = share }
          yield event.freeze
        end
      end
    end
  end
end
