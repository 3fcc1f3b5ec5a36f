# frozen_string_literal: true

module Profiler
  class Middleware
    # Responds to +?profile=ID+ and +?profile=last+ with the flame graph of an existing profile, in place of the app's response.
    class Shown
      LAST = "last"
      # The picture's script may run, but cannot reach the app: its origin is opaque.
      POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; sandbox allow-scripts"
      HEADERS = { "content-type" => "image/svg+xml", "content-security-policy" => POLICY, "cache-control" => "no-store",
                  "x-content-type-options" => "nosniff" }.freeze
      private_constant :POLICY, :HEADERS

      # Whether the value of a query can be the name of a profile.
      def self.name?(options_text)
        options_text == LAST || Directory::OURS.match?(options_text)
      end

      # @param policy [Recording::Policy]
      def initialize(policy)
        @policy = policy
      end

      # @param name [String]
      # @return [Array] a response
      # @raise [Recording::Refused] with the reason
      def response(name)
        profile = @policy.fetch(name == LAST ? nil : name)
        raise Recording::Refused, "no such profile" unless profile

        picture = profile.dump("svg")
        [200, HEADERS.merge("content-length" => picture.bytesize.to_s), [picture]]
      rescue FormatError
        raise Recording::Refused, "profiles in this format cannot be shown"
      end
    end
  end
end
