# frozen_string_literal: true

module Profiler
  class Permission
    # Decides whether a request was sent by a program on this machine. A reverse proxy connects from a loopback address too, for
    # clients anywhere, so any sign of a proxy means no. A client's headers can therefore only turn a yes into a no.
    module Local
      LOOPBACK = /\A(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)\z/i.freeze
      # Names that no public DNS server resolves. A page from elsewhere cannot make the browser resolve its own name to this
      # machine.
      HOSTS = /\A(?:(?:[\w-]+\.)*(?:localhost|test)|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\])(?::\d+)?\z/i.freeze
      # X-Forwarded-For, Forwarded, X-Real-IP, True-Client-IP, CF-Connecting-IP, Via and the like.
      PROXIES = /FORWARDED|_IP\z|X_ORIGINAL_|\AHTTP_VIA\z/.freeze
      # The protocol of a proxy without headers of its own (nginx by default). Browsers have not used it for decades.
      OLD = "HTTP/1.0"
      # The header's value for requests of the site itself, or of its user. Only browsers have it.
      OWN_SITES = [nil, "none", "same-origin"].freeze
      private_constant :LOOPBACK, :HOSTS, :PROXIES, :OLD, :OWN_SITES

      class << self
        # @param env [Hash]
        # @return [Boolean]
        def request?(env)
          direct?(env) && host?(env)
        end

        # Returns whether a page of another site may have made a browser send the request: by a host name of its own that
        # resolves to this machine, or openly. Tokens and signs of a proxy cannot come from a page.
        #
        # @param env [Hash]
        # @return [Boolean]
        def foreign?(env)
          (direct?(env) && !host?(env)) || !own_origin?(env) || !OWN_SITES.include?(text(env, "HTTP_SEC_FETCH_SITE"))
        end

        private

        def direct?(env) = LOOPBACK.match?(text(env, "REMOTE_ADDR").to_s) && !through_proxy?(env)

        def host?(env)
          host = text(env, "HTTP_HOST")
          host.nil? || HOSTS.match?(host)
        end

        # Scrapers send no Origin. Browsers do, if the page is of another site.
        def own_origin?(env)
          origin = text(env, "HTTP_ORIGIN")
          origin.nil? || origin.sub(%r{\Ahttps?://}i, "").casecmp?(text(env, "HTTP_HOST").to_s)
        end

        # Servers report a loopback address for a Unix socket, and only a proxy connects to one.
        def through_proxy?(env)
          env.each_key.any? { |name| name.is_a?(String) && name.start_with?("HTTP_") && PROXIES.match?(name) } ||
            %w[SERVER_PROTOCOL HTTP_VERSION].any? { |name| text(env, name).to_s.include?(OLD) } ||
            (defined?(::UNIXSocket) && ::UNIXSocket === env.fetch("puma.socket", nil)) || false
        end

        # Returns the bytes of a header or the like: a client can send any. An app's env may hold something that is not text.
        #
        # @return [String, nil] nil if there is none
        def text(env, name)
          value = env.fetch(name, nil)
          return if value.equal?(nil)

          String === value ? value.b : ""
        end
      end
    end
  end
end
