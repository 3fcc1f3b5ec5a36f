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
  )

  # A share of a row, and when the row got it: +time+ is nanoseconds since the start of the profile, the end of the time
  # that the share weighs. All else is as in a {Sample}: frames, thread, state and labels are the row's, weights its own.
  # What has waited comes as two, one +:waiting+ and one +:gvl+; with +count+ 0 it is what was left to be given when
  # its thread ended or the session looked away.
  Moment = Struct.new(:time, *Sample.members, keyword_init: true)
end
