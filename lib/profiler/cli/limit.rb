# frozen_string_literal: true

module Profiler
  module CLI
    # A limit on a function: +Foo#bar: 5%+.
    class Limit
      TIMES = { "ns" => 1, "us" => 1e3, "ms" => 1e6, "s" => 1e9 }.freeze
      SIZES = { "b" => 1, "kb" => 1e3, "mb" => 1e6, "gb" => 1e9, "kib" => 2**10, "mib" => 2**20, "gib" => 2**30 }.freeze
      UNITS = { **TIMES, **SIZES, "" => 1 }.freeze
      # The units that a type in this unit can have a limit in, besides shares and plain numbers.
      OF_TYPES = { "nanoseconds" => TIMES, "bytes" => SIZES }.freeze
      private_constant :TIMES, :SIZES, :OF_TYPES

      # @param text [String]
      # @raise [UsageError]
      def initialize(text)
        name, _, limit = CLI.text(text).rpartition(":")
        number, unit = limit.strip.match(/\A(\d+(?:\.\d+)?)\s*([a-z%]*)\z/i)&.captures
        if name.strip.empty? || !number || !(unit == "%" || UNITS.key?(unit.downcase))
          raise UsageError, "--max #{text.inspect} is not a limit (allowed: 'METHOD: 5%', 'METHOD: 200ms', 'METHOD: 10MB', '/RE/: 1%')"
        end

        @text = limit.strip
        @pattern = pattern(name.strip)
        @share = Float(number) / 100 if unit == "%"
        @unit = unit.downcase
        @weight = Float(number) * UNITS.fetch(@unit) unless @share
      end

      # @param profiles [Array<Profile>] runs, of which the mean counts
      # @return [Array<Hash>] +name limit ok+ and +share+ or +weight+, for each function; an absent function has weight 0
      # @raise [UsageError] for a limit in another unit than what was counted
      def check(profiles, type)
        require_unit_of(profiles.first, type)
        sums = Hash.new(0.0)
        profiles.each do |profile|
          total = [profile.totals.fetch(type || Native.default_type(profile), 0), 1].max
          profile.top(limit: 0, type: type).select { |it| it[:name].match?(@pattern) }.group_by { |it| it[:name] }.each do |name, rows|
            weight = rows.sum { |it| it[:total] }
            sums[name] += (@share ? weight.to_f / total : weight.to_f) / profiles.size
          end
        end
        sums[@name] = 0.0 if sums.empty? && @name
        sums.map { |name, it| { name: name, limit: @text, ok: it <= (@share || @weight), (@share ? :share : :weight) => it } }
      end

      # Returns whether one of the profiles has such a function.
      def any_in?(profiles)
        profiles.any? { |profile| Native.functions(profile).any? { |name, *| name.match?(@pattern) } }
      end

      # Returns the function as the user wrote it, without its limit.
      def to_s = @name || "/#{@pattern.source}/"

      private

      def require_unit_of(profile, type)
        return if @share || @unit.empty?

        type ||= Native.default_type(profile)
        _, unit, = profile.__send__(:_types).assoc(type)
        return if unit.nil? || OF_TYPES.fetch(unit, {}).key?(@unit)

        allowed = ["5%", *{ "nanoseconds" => "200ms", "bytes" => "10MB" }[unit], "a plain number"].join(", ")
        raise UsageError, "--max '#{self}: #{@text}' is not a limit for #{type}, whose unit is #{unit} (allowed: #{allowed})"
      end

      def pattern(name)
        inside = name[%r{\A/(.*)/\z}, 1]
        return Regexp.new(inside) if inside

        @name = name
        /\A#{Regexp.escape(name)}\z/
      rescue RegexpError => e
        raise UsageError, "--max #{name} is not a regular expression: #{e.message}"
      end
    end
  end
end
