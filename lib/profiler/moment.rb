# frozen_string_literal: true

module Profiler
  # A share of a row, and when the row got it: +time+ is nanoseconds since the start of the profile, the end of the time
  # that the share weighs. All else is as in a {Sample}: frames, thread, state and labels are the row's, weights its own.
  # What has waited comes as two, one +:waiting+ and one +:gvl+; with +count+ 0 it is what was left to be given when
  # its thread ended or the session looked away.
  Moment = Struct.new(:time, *Sample.members, keyword_init: true) do
    # @api private
    #
    # Of one row all moments share everything but time and weights.
    #
    # @yieldparam moment [Moment]
    def self.each_of(profile)
      rows = profile.samples.map { |row| new(**row.to_h).tap { |it| [it.frames, it.labels, it.thread_name].each(&:freeze) } }
      place = -1
      while (numbers = profile.send(:_timeline_part, place += 1))
        numbers.each_slice(2 + WEIGHTS.size) do |time, row, *shares|
          moment = rows[row].dup
          moment.time = time
          WEIGHTS.zip(shares) { |name, share| moment[name] = share }
          yield moment.freeze
        end
      end
    end
  end
end
