# frozen_string_literal: true

require "json"

module Profiler
  # Where the memory of a process is: the ledger of its resident bytes. {Profiler.memory} returns it.
  #
  #   ledger = Profiler.memory(owners: true)
  #   puts ledger                                # as profiler memory PID prints it
  #   ledger.kinds[:tops]                        # => 91226112
  #   ledger.owners.first[:name]                 # => "String"
  #   File.write("before.json", ledger.to_json)  # for profiler memory --since before.json PID
  class Ledger
    class << self
      # @api private
      def take(owners, force)
        [[:owners, owners], [:force, force]].each do |name, value|
          raise ArgumentError, "#{name}: #{value.inspect} is not allowed (allowed: true, false)" unless [true, false].include?(value)
        end
        new(Native.ledger(owners, force))
      end

      # Reads a ledger that was written as JSON.
      #
      # @param json [String]
      # @return [Ledger]
      # @raise [ArgumentError] if it is none
      def parse(json)
        Native.ledger_text(json) # which reads all of it
        new(json)
      end
    end

    # @api private
    def initialize(json)
      @json = json.strip.freeze
    end

    # Resident bytes, as the kernel counts them.
    #
    # @return [Integer]
    def rss = to_h.fetch(:rss)

    # Resident bytes by kind, the largest first. +:unnamed+ is what has no name.
    #
    # @return [Hash{Symbol => Integer}]
    def kinds = to_h.fetch(:kinds).to_h { |row| [row.fetch(:kind).to_sym, row.fetch(:bytes)] }

    # The owners of malloc's memory and of Ruby's objects, the largest first: +:name+, +:bytes+, and their parts. Empty if the
    # ledger was taken without owners.
    #
    # @return [Array<Hash>]
    def owners = to_h.dig(:snapshot, :owners) || []

    # The findings: +:kind+, +:bytes+, +:text+ and +:remedy+.
    #
    # @return [Array<Hash>]
    def findings = to_h.fetch(:findings)

    # @return [Array<String>] what the reader must know
    def notes = to_h.fetch(:notes)

    # Compares it with an earlier ledger.
    #
    # @param before [Ledger]
    # @return [Ledger::Diff]
    def since(before) = Diff.new(*Native.ledger_diff(before.to_json, to_json))

    # All of it, with Symbols as keys; sizes are bytes, times nanoseconds.
    #
    # @return [Hash]
    def to_h = @to_h ||= JSON.parse(@json, symbolize_names: true)

    # Returns the ledger as one line of JSON.
    #
    # @return [String]
    def to_json(*) = @json

    # Text for people.
    #
    # @return [String]
    def to_s = Native.ledger_text(@json)

    # @return [String]
    def inspect = "#<Profiler::Ledger #{rss} bytes resident#{", #{owners.size} owners" if owners.any?}>"

    # The changes between two ledgers.
    class Diff
      # @api private
      def initialize(json, text)
        @json = json
        @text = text
      end

      # The changes: +:kinds+ and +:owners+, each an Array of Hashes with +:name+, +:before+ and +:after+.
      #
      # @return [Hash]
      def to_h = JSON.parse(@json, symbolize_names: true)

      # Returns the changes as one line of JSON.
      #
      # @return [String]
      def to_json(*) = @json

      # Text for people.
      #
      # @return [String]
      def to_s = @text
    end
  end
end
