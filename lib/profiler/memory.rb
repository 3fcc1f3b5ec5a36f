# frozen_string_literal: true

# The resident memory of the process.
module Profiler
  class << self
    # Returns where the memory of this process is: its resident bytes by kind, and with +owners+ who has each block of malloc.
    # With owners, garbage is collected and the process is copied, as by fork. This thread waits for the copy; other threads continue.
    #
    # @param owners [Boolean] find the owners of malloc's memory
    # @param force [Boolean] copy the process even if it has more than 4 GiB, or is near the memory limit of its cgroup
    # @param why [String, nil] also find owners, and say why the objects of this class are alive; "*" for those that retain most
    # @param max_pause [Numeric, nil] seconds; refuse owners if the process would stand still for longer, by an estimate
    # @param every [Numeric, nil] keep a row of memory every so many seconds, 1 to 86,400, in place of all this
    # @return [Ledger, MemoryLog] the latter with +every+
    # @raise [ArgumentError] for a value that is not allowed
    # @raise [Unsupported] if this process cannot be profiled or, with +owners+, copied (within +max_pause+)
    # @raise [Error] if the system refuses
    def memory(every: nil, **options)
      ensure_supported
      return Ledger.take(**options) if every.equal?(nil)
      raise ArgumentError, "every: does not go with #{options.keys.first}: rows of memory are taken without owners" if options.any?

      MemoryLog.start(every)
    end
  end
end
