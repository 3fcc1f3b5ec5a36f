# frozen_string_literal: true

# Requests to a middleware in development, and whether they return a profile. Needs the helpers.
$stderr = STDOUT
RESULTS = []
BODY = ["x"].freeze
HEADERS = { "a" => "b" }.freeze
LOCAL = { "REQUEST_METHOD" => "GET", "QUERY_STRING" => "profile=cpu", "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost:9292",
          "SERVER_PROTOCOL" => "HTTP/1.1" }.freeze
def middleware = Profiler::Middleware.new(->(env) { [200, HEADERS, BODY] }, out: ->(it) { RESULTS << it })

# Whether it returns a profile; where it does not, the response has to be the app's own objects.
def profiled?(env)
  RESULTS.clear
  silently = $stderr
  $stderr = File.open(IO::NULL, "w")
  response = middleware.call(LOCAL.merge(env))
  untouched = response.zip([200, HEADERS, BODY]).all? { |got, gave| got.equal?(gave) }
  raise "a denied response was changed: #{response}" unless untouched ^ (RESULTS.size == 1)
  RESULTS.size == 1
ensure
  $stderr = silently
end
# Returns the values that result in a profile.
def profiled(name, values) = values.select { |it| profiled?(name => it) }
