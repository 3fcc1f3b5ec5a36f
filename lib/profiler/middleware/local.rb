# frozen_string_literal: true

module Profiler
  class Middleware
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
      private_constant :LOOPBACK, :HOSTS, :PROXIES, :OLD

      # @param env [Hash]
      # @return [Boolean]
      def self.request?(env)
        host = env["HTTP_HOST"]
        LOOPBACK.match?(env["REMOTE_ADDR"].to_s) && (host.nil? || HOSTS.match?(host)) && !through_proxy?(env)
      end

      # Servers report a loopback address for a Unix socket, and only a proxy connects to one.
      def self.through_proxy?(env)
        env.each_key.any? { |name| name.start_with?("HTTP_") && PROXIES.match?(name) } ||
          env.values_at("SERVER_PROTOCOL", "HTTP_VERSION").any? { |it| it.to_s.include?(OLD) } ||
          (defined?(::UNIXSocket) && env["puma.socket"].is_a?(::UNIXSocket)) || false
      end
      private_class_method :through_proxy?
    end
  end
end
