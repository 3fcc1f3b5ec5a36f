# frozen_string_literal: true

module Profiler
  class Middleware
    # Responds to +?profile=ID+ and +?profile=last+ with the page of an existing profile, in place of the app's response.
    class Shown
      LAST = "last"
      # The page's script may run, but cannot reach the app: its origin is opaque. What it saves is a download.
      POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; sandbox allow-scripts allow-downloads"
      HEADERS = { "content-type" => "text/html; charset=utf-8", "content-security-policy" => POLICY, "cache-control" => "no-store",
                  "x-content-type-options" => "nosniff" }.freeze
      private_constant :POLICY, :HEADERS

      # Returns whether the value of a query can be the name of a profile, or of their list.
      def self.name?(options_text)
        options_text == LAST || Index.name?(options_text) || Directory::OURS.match?(options_text)
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

        whole(profile.dump("html"))
      rescue FormatError
        raise Recording::Refused, "profiles in this format cannot be shown"
      end

      # @param names [Array<String, nil>] the profile before and that after
      # @return [Array] a response
      # @raise [Recording::Refused] with the reason
      def comparison(*names)
        raise Recording::Refused, "Choose one profile before and one after" unless names.all?

        kept = @policy.list
        before, after = names.map { |name| (@policy.read(name) if kept.include?(name)) or raise Recording::Refused, "#{name} is no longer kept" }
        title = [before, after].map { |profile| title_of(**profile.meta[:metadata].transform_keys(&:to_sym)) }.join(" \u2192 ")
        whole(Native.diff_page([before], [after], { title: title, before: [names[0]], after: [names[1]] }))
      rescue FormatError, ArgumentError, SystemCallError => e
        raise Recording::Refused, "These cannot be compared: #{e.message}"
      end

      private

      def title_of(endpoint: "", seconds: nil, **) = "#{endpoint}#{", #{seconds} s" if seconds}"

      def whole(page) = [200, HEADERS.merge("content-length" => page.bytesize.to_s), [page]]
    end
  end
end
