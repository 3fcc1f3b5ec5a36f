# frozen_string_literal: true

module Profiler
  # A function at a line.
  #
  # +name+ is the qualified name (+Foo#bar+, +Foo.bar+, +<main>+), +class_name+ and +method_name+ its
  # parts (empty where there is none), +path+ the file (+<cfunc>+ for C, empty for what the profiler
  # made up), +line+ the line that ran (0 where there is none), +kind+ what it is written in (+:ruby+, +:cfunc+, or
  # +:synthetic+: made up).
  Frame = Struct.new(:name, :class_name, :method_name, :path, :line, :kind, keyword_init: true) do
    def to_s
      line.zero? ? name : "#{name} (#{path}:#{line})"
    end
  end

  # A span of time that the app gave a name, or a moment: +started_at+ is a Time, +duration+ nanoseconds (0 for
  # a moment).
  Marker = Struct.new(:name, :thread_id, :thread_name, :started_at, :duration, keyword_init: true)

  # One row of a profile: a stack, whose it was, and how much it weighs. +frames+ are leaf first;
  # times are nanoseconds; what was not measured is 0. +alloc_objects+ were made there, of the class that the label +class+
  # says, in slots of together +alloc_bytes+; +inuse_objects+ and +inuse_bytes+ of those are alive, in rows of their own with the label
  # +age+. +gvl_blame+ is how long the thread +labels+ calls +waiter+ waited
  # for the GVL while this stack had it.
  Sample = Struct.new(
    :frames, :thread_id, :thread_name, :state, :labels,
    :count, :cpu, :wall, :gvl_wait, :gc, :gvl_blame, :alloc_objects, :alloc_bytes, :inuse_objects, :inuse_bytes,
    keyword_init: true
  ) do
    # @api private
    def self.all_of(profile)
      fields = Frame.members
      frames, rows = profile.send(:_rows)
      frames.map! { |values| Frame.new(**fields.zip(values).to_h).freeze }
      rows.map do |stack, thread_id, thread_name, state, labels, weights|
        new(frames: stack.map { |place| frames[place] }, thread_id: thread_id, thread_name: thread_name,
            state: state, labels: labels, **WEIGHTS.zip(weights).to_h).freeze
      end
    end
  end
  # In the order in which the extension gives them.
  WEIGHTS = Sample.members.drop(Sample.members.index(:count)).freeze
  private_constant :WEIGHTS
end
