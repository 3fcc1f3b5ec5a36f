# frozen_string_literal: true

# Requests profiles from other addresses, for other names, through proxies and in other environments. Prints those that were
# profiled.
require_relative "../helpers"
require_relative "local"

tried = {
  "REMOTE_ADDR" => [nil, "", "192.0.2.1", "10.0.0.1", "128.0.0.1", "1.127.0.0.1", "127.0.0.1.example.org", "127.0.0.1, 192.0.2.1",
                    "127.0.0.1\n192.0.2.1", "::2", "::ffff:192.0.2.1", "fe80::1", "unix:", "localhost"],
  "HTTP_HOST" => ["example.org", "localhost.example.org", "127.0.0.1.example.org", "127.example.org", "xlocalhost",
                  "localhost, example.org", "192.0.2.1", "", "localhost\nexample.org"],
  "SERVER_PROTOCOL" => ["HTTP/1.0"], "HTTP_VERSION" => ["HTTP/1.0", "HTTP/1.0, HTTP/1.1"]
}
proxies = %w[X_FORWARDED_FOR X_FORWARDED_HOST X_FORWARDED_PROTO FORWARDED X_REAL_IP X_CLIENT_IP TRUE_CLIENT_IP CF_CONNECTING_IP VIA
             X_ORIGINAL_HOST]
proxies.each { |name| tried["HTTP_#{name}"] = ["127.0.0.1", "", "localhost"] }
profiled = tried.flat_map { |name, values| profiled(name, values).map { |it| [name, it] } }
profiled += %w[RAILS_ENV APP_ENV HANAMI_ENV].select { |name| ENV[name] = "production"; profiled?({}).tap { ENV.delete(name) } }
plain = profiled?({})

module Rails
  def self.env = Struct.new(:development?).new(false)
end

print_json([profiled, [tried.size, plain, profiled?({})]])
