# frozen_string_literal: true

require_relative "../option_fault"

module Profiler
  # The names of signals that an app's owner can assign to the profiler. Ruby 2 can read this file.
  module SignalName
    # Signals that cannot be trapped, that Ruby reserves, or that the profiler uses.
    RESERVED = %w[KILL STOP SEGV BUS ILL FPE VTALRM PROF EXIT CHLD CLD].freeze

    # @param text [String] such as +USR2+ or +SIGUSR2+
    # @return [String] without SIG
    def self.of(text)
      name = text.upcase.sub(/\ASIG/, "")
      return name if Signal.list.key?(name) && !RESERVED.include?(name)

      raise OptionFault.error("signal", text, "is not a signal that can be used (allowed: USR1, USR2, HUP and similar ones)")
    end
  end
  private_constant :SignalName
end
