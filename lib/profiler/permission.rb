# frozen_string_literal: true

require "digest"

require_relative "process/callback"

module Profiler
  # Decides which clients may request and see profiles. In development these are the programs on this machine; elsewhere
  # +permit+ and the token decide, and if both are set, both must agree. By default, all are denied.
  class Permission
    autoload :Local, "#{__dir__}/permission/local"
    autoload :Untraced, "#{__dir__}/permission/untraced"

    HEADER = "HTTP_X_PROFILER_TOKEN"
    AUTHORIZATION = "HTTP_AUTHORIZATION"
    MIN_TOKEN_BYTES = 16
    # The variables that name the environment. Puma and rackup set RACK_ENV to "development" by default, so it means little
    # beside the others.
    VARIABLES = %w[RAILS_ENV RACK_ENV APP_ENV HANAMI_ENV].freeze
    BEARER = /\Abearer +/i.freeze
    private_constant :AUTHORIZATION, :VARIABLES, :BEARER

    # @param permit [#call, nil] called with the env
    # @param token [String, nil]
    # @param bearer [Boolean] whether the token may also come as <tt>Authorization: Bearer</tt>
    # @raise [ArgumentError]
    def initialize(permit, token, bearer: false)
      raise ArgumentError, "permit: #{AnyObject.text(permit)} does not respond to call" unless permit.equal?(nil) || AnyObject.can?(permit, :call)
      unless token.equal?(nil) || (String === token && token.bytesize >= MIN_TOKEN_BYTES)
        raise ArgumentError, "token: is not a String of #{MIN_TOKEN_BYTES} bytes or more" # the message does not print the token
      end

      @permit = permit
      @digest = token && Digest::SHA256.digest(token)
      @bearer = bearer
      @losses = Losses.new("a request for a profile was refused")
      [Local, Untraced] # loaded now: to load in a request is to be interrupted in the middle of it
    end

    # Returns whether the client is authorized. If +permit+ raises, it is not, and one line says what was raised.
    #
    # @param env [Hash]
    # @return [Boolean]
    # @see Callback.call
    def given?(env) = Callback.call(@losses) { decide(env) } ? true : false

    # Returns whether the request has the token. False if there is none.
    def token?(env)
      return false unless @digest

      right?(env.fetch(HEADER, nil)) || (@bearer && right?(bearer_of(env))) || false
    end

    # Returns whether a variable says development, and none says otherwise.
    def self.development?
      environments = ENV.values_at(*VARIABLES).compact
      # Avoids <tt>defined?(::Rails.env)</tt>, in which Ruby rescues exceptions that arrive from other threads.
      return false if defined?(::Rails) && ::Rails.respond_to?(:env) && !::Rails.env.development?

      environments.any? && environments.all?("development")
    end

    private

    def decide(env)
      return self.class.development? && local?(env) unless @permit || @digest
      return false if @digest && !token?(env)

      @permit.equal?(nil) || Untraced.read(env) { @permit.call(env) }
    end

    def local?(env)
      return true if Local.request?(env)

      unless @warned
        @warned = true
        warn "[profiler] a request from #{env.fetch("REMOTE_ADDR", nil).to_s[0, 60].inspect} was refused a profile: without permit: and token: only " \
             "development allows profiles, and only to direct requests from this machine"
      end
      false
    end

    def bearer_of(env)
      text = env.fetch(AUTHORIZATION, nil).to_s.b
      BEARER.match?(text) ? text.sub(BEARER, "") : nil
    end

    # Compares digests, which have one length, in constant time.
    def right?(token)
      return false unless token

      digest = Digest::SHA256.digest(token.to_s)
      @digest.each_byte.zip(digest.each_byte).sum { |ours, theirs| ours ^ theirs }.zero?
    end
  end
  private_constant :Permission
end
