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
  # times are nanoseconds; what was not measured is 0. +gvl_blame+ is how long the thread +labels+ calls +waiter+ waited
  # for the GVL while this stack had it.
  Sample = Struct.new(
    :frames, :thread_id, :thread_name, :state, :labels,
    :count, :cpu, :wall, :gvl_wait, :gc, :gvl_blame, :alloc_objects, :alloc_bytes, :inuse_objects, :inuse_bytes,
    keyword_init: true
  )
end
