# frozen_string_literal: true

require "json"
require_relative "ledger/edges"

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
      def take(owners: false, force: false, why: nil, max_pause: nil)
        [[:owners, owners], [:force, force]].each do |name, value|
          raise ArgumentError, "#{name}: #{AnyObject.text(value)} is not allowed (allowed: true, false)" unless [true, false].include?(value)
        end
        unless max_pause.equal?(nil)
          max_pause = AnyObject.number("max_pause", max_pause, "a number of seconds above 0 and up to 3600") { |seconds| seconds.positive? && seconds <= 3_600 }
        end
        return new(Native.ledger(owners, force, nil, max_pause&.to_f).first) if why.equal?(nil)

        json, paths = Native.ledger(true, force, [why, classes(why)], max_pause&.to_f)
        new(with_names(json, paths))
      end

      # Reads a ledger that was written as JSON.
      #
      # @param json [String]
      # @return [Ledger]
      # @raise [ArgumentError] if it is none
      def parse(json)
        text = AnyObject.utf8(json) or raise ArgumentError, "not a ledger of profiler memory --json: it is not text in UTF-8"
        Native.ledger_text(text) # which reads all of it
        new(text)
      end

      # Returns rows of memory that were written as JSON.
      #
      # @api private
      def rows(json) = JSON.parse(json, symbolize_names: true)

      private

      # Returns the classes of that name. Code that was reloaded leaves several.
      def classes(why)
        raise ArgumentError, "why: #{AnyObject.text(why)} is not allowed (allowed: the name of a class, or \"*\")" unless String === why
        return [] if why == "*"

        # All are listed first: if Ruby code ran for each, another thread could compact the heap, and some would be missed.
        found = ObjectSpace.each_object(Class).to_a.select { |it| Edges::NAME.bind_call(it) == why }
        raise ArgumentError, "why: no class is named #{why.inspect} (allowed: the name of a class that is loaded, or \"*\")" if found.empty?

        found
      end

      # Adds the names of references, which need the objects.
      def with_names(json, paths)
        ledger = JSON.parse(json)
        holders = ledger.dig("snapshot", "why", "holders")
        holders.zip(paths) { |holder, path| Edges.name_path(holder, path) }
        JSON.generate(ledger)
      end
    end

    # @api private
    def initialize(json)
      @json = json.strip.freeze
    end

    # Returns the resident bytes, as the kernel counts them.
    #
    # @return [Integer]
    def rss = to_h.fetch(:rss)

    # Returns the resident bytes by kind, the largest first. +:unnamed+ is memory without a name.
    #
    # @return [Hash{Symbol => Integer}]
    def kinds = to_h.fetch(:kinds).to_h { |row| [row.fetch(:kind).to_sym, row.fetch(:bytes)] }

    # Returns the owners of malloc's memory and of Ruby's objects, the largest first: +:name+, +:bytes+, and their parts. Empty if the
    # ledger was taken without owners.
    #
    # @return [Array<Hash>]
    def owners = to_h.dig(:snapshot, :owners) || []

    # Returns the findings: +:kind+, +:bytes+, +:text+ and +:remedy+.
    #
    # @return [Array<Hash>]
    def findings = to_h.fetch(:findings)

    # Returns why the objects of a class are alive: +:count+, +:retained+ and +:holders+, each with its +:path+. +nil+ if the
    # ledger was taken without +why+.
    #
    # @return [Hash, nil]
    def why = to_h.dig(:snapshot, :why)

    # @return [Array<String>] what the reader must know
    def notes = to_h.fetch(:notes)

    # Compares it with an earlier ledger.
    #
    # @param before [Ledger]
    # @return [Ledger::Diff]
    def since(before) = Diff.new(*Native.ledger_diff(before.to_json, to_json))

    # Returns the ledger with one more note.
    #
    # @param note [String]
    # @return [Ledger]
    # @api private
    def with_note(note)
      ledger = JSON.parse(@json)
      Ledger.new(JSON.generate(ledger.merge("notes" => [*ledger.fetch("notes"), note])))
    end

    # Returns the whole ledger, with Symbols as keys; sizes are bytes, times nanoseconds.
    #
    # @return [Hash]
    def to_h = @to_h ||= JSON.parse(@json, symbolize_names: true)

    # Returns the ledger as one line of JSON.
    #
    # @return [String]
    def to_json(*) = @json

    # Returns text for people.
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

      # Returns the changes: +:kinds+ and +:owners+, each an Array of Hashes with +:name+, +:before+ and +:after+.
      #
      # @return [Hash]
      def to_h = JSON.parse(@json, symbolize_names: true)

      # Returns the changes as one line of JSON.
      #
      # @return [String]
      def to_json(*) = @json

      # Returns text for people.
      #
      # @return [String]
      def to_s = @text
    end
  end
end
