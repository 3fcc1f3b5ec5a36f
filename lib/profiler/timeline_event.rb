# frozen_string_literal: true

module Profiler
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
