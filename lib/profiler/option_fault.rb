# frozen_string_literal: true

module Profiler
  # A wrong value of an option: its name, the value, and a sentence in pieces. Ruby spells it as +mode: :cpu+, the
  # command line as <tt>--mode cpu</tt>. Ruby 2 can read this file.
  #
  # A piece is a kind and a text: +text+, +option+ (the name of another option), +choice+ (the name of a Symbol that is allowed), or
  # +several+ (of these).
  class OptionFault
    KINDS = %w[text option choice several].freeze
    # Where an exception keeps it. The extension knows the name.
    VARIABLE = :@profiler_fault
    private_constant :KINDS, :VARIABLE

    class << self
      # Returns what an exception was raised for, or nil.
      #
      # @param error [Exception]
      # @return [OptionFault, nil]
      def of(error)
        name, value, pieces = error.instance_variable_get(VARIABLE)
        new(name, value.nil? ? nil : shown(value), pieces) if name
      end

      # Returns an ArgumentError whose message is in Ruby's spelling.
      #
      # @param name [String] of the option
      # @param value [Object]
      # @param wrong [String] what follows in the sentence
      # @return [ArgumentError]
      def error(name, value, wrong)
        error = ArgumentError.new("#{name}: #{value.inspect} #{wrong}")
        error.instance_variable_set(VARIABLE, [name, value, [["text", " #{wrong}"]]])
        error
      end

      # Returns the one that another process has sent, or nil if that is none.
      #
      # @param data [Object] the result of {to_a}
      # @return [OptionFault, nil]
      def parse(data)
        name, shown, pieces = data if data.is_a?(Array)
        well_formed = name.is_a?(String) && (shown.nil? || shown.is_a?(String)) && pieces.is_a?(Array) &&
                      pieces.all? { |piece| piece.is_a?(Array) && KINDS.include?(piece[0]) && piece[1].is_a?(String) }
        new(name, shown, pieces) if well_formed
      end

      private

      # Returns the value as it is written on a command line. Strings are in quotes, to show where they begin and end.
      def shown(value)
        case value
        when Symbol then value.to_s
        when Array then value.empty? ? "\"\"" : value.map { |it| shown(it) }.join(",")
        else value.inspect
        end
      end
    end

    # @return [String] the name of the option
    attr_reader :name
    # @return [String, nil] the value as on a command line; nil if the option is wrong with any value
    attr_reader :value

    def initialize(name, value, pieces)
      @name = name
      @value = value
      @pieces = pieces
    end

    # @return [Array<String>] the values that are allowed, if there are few
    def allowed
      @pieces.map { |kind, text| text if kind == "choice" }.compact
    end

    # @return [Array] for {parse}
    def to_a
      [@name, @value, @pieces]
    end

    # @return [String] the sentence for a user of the command line
    def on_command_line
      [option(@name), *(" #{@value}" if @value), *@pieces.map { |kind, text| spell(kind, text) }].join
    end

    private

    def spell(kind, text)
      case kind
      when "option" then option(text)
      when "several" then "or several separated by commas"
      else text
      end
    end

    def option(name)
      "--#{name.tr("_", "-")}"
    end
  end
  private_constant :OptionFault
end
