# frozen_string_literal: true

module Profiler
  module Autoload
    # The memory of a process that is recorded: a row at the start, and a row and a ledger with owners at the end.
    class RecordedMemory
      def initialize
        @rows = [Native.memory_row]
      end

      # Forgets the row of the start in a forked child, which has another one.
      def forked
        @rows = []
      end

      # Returns the profile with the memory up to now.
      #
      # @param profile [Profile]
      # @return [Profile]
      def into(profile)
        Native.with_memory(profile, [*@rows, Native.memory_row], [ledger.to_json])
      rescue *RESCUED_ERRORS => e
        Losses.warn("the memory is not in the profile: #{Losses.reason(e)}")
        profile
      end

      private

      # Returns the ledger with owners. If there can be none, its notes say why.
      def ledger
        Profiler.memory(owners: true)
      rescue Unsupported, Error => e
        Profiler.memory.with_note(Losses.reason(e))
      end
    end
  end
end
