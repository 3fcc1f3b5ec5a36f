# frozen_string_literal: true

require "rbconfig"

module Profiler
  class MethodTrace
    # Where calls come from. The caller of a library's method is often in the same library, so the nearest line of the app is named,
    # too.
    class Origin
      CALLER_LOCATIONS = Kernel.instance_method(:caller_locations)
      # The directory of the code that runs in a hook.
      OWN = File.join(__dir__, "")
      # The largest number of frames that are searched.
      MAX_FRAMES = 500
      private_constant :CALLER_LOCATIONS, :OWN, :MAX_FRAMES

      def initialize
        gems = defined?(Gem) ? Gem.path : []
        libraries = RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir", "sitedir", "vendordir", "bindir")
        @gems = directories(gems)
        @libraries = [*@gems, *directories(libraries), File.join(File.dirname(__dir__), ""), "<internal:"]
      end

      # Is called within a hook of the traced method.
      #
      # @return [String, nil] such as <tt>app/cart.rb:12</tt>, or <tt>app/cart.rb:12 via rack-2.2.6/lib/rack/lock.rb:9</tt>; nil if
      #   there is no caller
      def text
        frames = CALLER_LOCATIONS.bind_call(self, 1, MAX_FRAMES).drop_while { |frame| frame.path&.start_with?(OWN) }
        caller = frames[1] # the first one is that of the method
        return unless caller

        nearest = frames.drop(1).find { |frame| !library?(frame.path) } || caller
        nearest.equal?(caller) ? place(caller) : "#{place(nearest)} via #{place(caller)}"
      end

      private

      # Paths may have been resolved, or not.
      def directories(names)
        names.compact.flat_map { |name| [name, (File.realpath(name) if File.directory?(name))] }.compact.uniq.map { |name| File.join(name, "") }
      end

      def library?(path) = path.nil? || path.start_with?(*@libraries)

      def place(frame)
        gems = @gems.find { |directory| frame.path.to_s.start_with?("#{directory}gems/") }
        "#{gems ? frame.path.delete_prefix("#{gems}gems/") : frame.path}:#{frame.lineno}"
      end
    end
  end
end
