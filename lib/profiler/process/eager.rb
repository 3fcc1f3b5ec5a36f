# frozen_string_literal: true

module Profiler
  # Loads the files that are otherwise loaded on first use. A process may change its root directory, drop its privileges or
  # outlive the files of the gem, and then loading fails. So everything that lives as long as the process begins with this.
  module Eager
    # Constants that are loaded only by their users, because backends need Net::HTTP and OpenSSL.
    WITH_THEIR_USERS = %i[Browser Middleware Otlp Pprof Pyroscope Sinks].freeze
    private_constant :WITH_THEIR_USERS

    class << self
      # @param owners [Array<Module>] these as well
      # @return [nil]
      def load(*owners)
        load_in(Profiler) unless @loaded
        @loaded = true
        owners.each { |owner| load_in(owner) }
        nil
      end

      private

      def load_in(owner)
        names = owner.equal?(Profiler) ? FILES.keys - WITH_THEIR_USERS : owner.constants(false)
        names.each do |name|
          next unless owner.autoload?(name, false)

          loaded = owner.const_get(name, false)
          load_in(loaded) if loaded.is_a?(Module)
        end
      end
    end
  end
end
