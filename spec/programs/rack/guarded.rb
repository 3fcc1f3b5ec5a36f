# frozen_string_literal: true

# A middleware, and whether it left a response untouched. Needs the helpers.
TOKEN = "a token that nobody guesses"
RESULTS = Queue.new
BODY = ["x"].freeze
HEADERS = { "a" => "b" }.freeze
APP = ->(env) { [200, HEADERS, BODY] }
def middleware(**options) = Profiler::Middleware.new(APP, out: ->(it) { RESULTS << it }, **options)
def get(app, query = "profile=cpu", **env)
  app.call({ "REQUEST_METHOD" => "GET", "REMOTE_ADDR" => "127.0.0.1", "QUERY_STRING" => query }.merge(env.transform_keys(&:to_s)))
end

# Returns whether the response has the very objects that the app returned, and nothing of the profiler.
def untouched?(response) = response.zip([200, HEADERS, BODY]).all? { |got, gave| got.equal?(gave) } && RESULTS.empty?
