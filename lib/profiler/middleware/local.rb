# frozen_string_literal: true

module Profiler
  class Middleware
    # Tells whether a request was sent by a program on this machine. A reverse proxy on this machine connects from a loopback
    # address too, for clients that may be anywhere, so whatever shows a proxy makes the answer no. The headers of a client can
    # therefore turn a yes into a no, but never a no into a yes.
    module Local
      LOOPBACK = /\A(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)\z/i.freeze
      # Names that no public DNS server answers for: a page from elsewhere cannot have the browser resolve its own name to us.
      HOSTS = /\A(?:(?:[\w-]+\.)*(?:localhost|test)|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\])(?::\d+)?\z/i.freeze
      # X-Forwarded-For, Forwarded, X-Real-IP, True-Client-IP, CF-Connecting-IP, Via and the like.
      PROXIES = /FORWARDED|_IP\z|X_ORIGINAL_|\AHTTP_VIA\z/.freeze
      # A proxy that says nothing of itself (nginx as it is installed) speaks HTTP/1.0. Browsers have not for decades.
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
