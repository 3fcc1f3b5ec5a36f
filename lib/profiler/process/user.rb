# frozen_string_literal: true

module Profiler
  # The user with whose rights a process runs, as the kernel says.
  module ProcessUser
    class << self
      # @param process [Integer, String] its number
      # @return [Integer, nil] nil if the kernel does not say it
      def id_of(process)
        File.read("/proc/#{process}/status", encoding: Encoding::BINARY)[/^Uid:\s*\d+\s+(\d+)/, 1]&.to_i
      rescue SystemCallError
        nil
      end

      # @param process [Integer, String] its number
      # @return [String] the name, or the number of a user without a name
      def of(process)
        id = id_of(process) or return "unknown"
        require "etc"
        Etc.getpwuid(id).name
      rescue ArgumentError
        id.to_s
      end

      # @param process [Integer, String] its number
      # @return [String] the users who may do everything with the process, for a sentence
      def and_root(process) = ["root", of(process)].uniq.reverse.join(" or ")

      # @param process [Integer, String] its number
      # @return [Boolean] whether it belongs to another user, and we are not root
      def another?(process)
        id = id_of(process)
        !id.nil? && !Process.euid.zero? && id != Process.euid
      end
    end
  end
  private_constant :ProcessUser
end
