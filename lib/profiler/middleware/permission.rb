# frozen_string_literal: true

require "digest"

module Profiler
  class Middleware
    # Who may ask for profiles and see that there are any. Nobody, unless something says yes: in development every program on this
    # machine may; elsewhere +permit+ has to agree, or the token has to be right, and where there are both, both.
    class Permission
      HEADER = "HTTP_X_PROFILER_TOKEN"
      LEAST = 16
      # Puma and rackup set RACK_ENV to "development" where nobody set it, so it counts for little beside the others.
      VARIABLES = %w[RAILS_ENV RACK_ENV APP_ENV HANAMI_ENV].freeze
      private_constant :VARIABLES

      # @param permit [#call, nil] gets the env
      # @param token [String, nil]
      # @raise [ArgumentError]
      def initialize(permit, token)
        raise ArgumentError, "permit: #{permit.inspect} does not respond to call" unless permit.nil? || permit.respond_to?(:call)
        unless token.nil? || (token.is_a?(String) && token.bytesize >= LEAST)
          raise ArgumentError, "token: it is not a String of #{LEAST} bytes or more" # which it is, the message does not tell
        end

        @permit = permit
        @digest = token && Digest::SHA256.digest(token)
      end

      # @param env [Hash]
      def given?(env)
        return self.class.development? && local?(env) unless @permit || @digest
        return false if @digest && !right?(env[HEADER])

        @permit.nil? || Untraced.read(env) { @permit.call(env) } ? true : false
      end

      # Where nothing says that it is, it is not. Where something says that it is not, it is not.
      def self.development?
        said = ENV.values_at(*VARIABLES).compact
        return false if defined?(::Rails.env) && !::Rails.env.development?

        said.any? && said.all?("development")
      end

      private

      def local?(env)
        return true if Local.request?(env)

        unless @warned
          @warned = true
          warn "[profiler] a request from #{env["REMOTE_ADDR"].to_s[0, 60].inspect} asked for a profile in vain: without permit: and token: only " \
               "development allows it, and only to requests that come straight from this machine"
        end
        false
      end

      # Digests have one length, and all of it is compared: how long that takes tells nothing.
      def right?(token)
        given = Digest::SHA256.digest(token.to_s)
        @digest.each_byte.zip(given.each_byte).sum { |ours, theirs| ours ^ theirs }.zero?
      end
    end
  end
end
