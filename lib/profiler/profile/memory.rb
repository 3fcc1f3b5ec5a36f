# frozen_string_literal: true

module Profiler
  # The memory of the process over time.
  class Profile
    # Returns the memory of the process over time, if a session kept it (<tt>Profiler.continuous(memory: true)</tt>, <tt>profiler
    # record --memory</tt>): rows with +:at_ns+, +:pid+, +:rss+, +:swapped+, +:malloc+, +:kinds+ and +:classes+. A profile keeps 1,440
    # at most; of more, every second one is dropped.
    #
    # @return [Array<Hash>] in the order of their times
    def memory = Ledger.rows(Native.memory_of(self).first)

    # Returns the whole ledgers of memory in the profile, such as that of the end under <tt>profiler record --memory</tt>.
    #
    # @return [Array<Ledger>]
    def ledgers = Native.memory_of(self).last.map { |json| Ledger.parse(json) }
  end
end
