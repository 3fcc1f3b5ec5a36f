# frozen_string_literal: true

require_relative "recording/policy"

module Profiler
  # Profiles requests of a Rack app (Rack 2 and 3): requested ones, a random share, or slow ones. Each has a profile of its own.
  # Other requests and all responses stay as they are.
  #
  #   use Profiler::Middleware, permit: ->(env) { Rack::Request.new(env).session[:admin] }
  #   use Profiler::Middleware, token: ENV["PROFILER_TOKEN"], slower_than: 0.5, out: "log/profiles"
  #
  # A request asks with +?profile=cpu+ or <tt>X-Profile: mode=wall;interval=500</tt>. Its response names the profile in
  # +x-profiler-result+, or has a reason in +x-profiler-refused+. <tt>?profile=</tt> with that name, or
  # <tt>?profile=last</tt>, shows it; <tt>?profile=list</tt> lists all that are kept. In development, a line in the log and a link
  # at the end of a page lead to the profile.
  #
  # Unauthorized clients cannot detect the middleware: their responses are the app's. Without +permit+ and +token+, only
  # requests from this machine are authorized, in development.
  class Middleware
    autoload :RequestParser, "#{__dir__}/middleware/request_parser"
    autoload :Body, "#{__dir__}/middleware/body"
    autoload :Headers, "#{__dir__}/middleware/headers"
    autoload :Hijack, "#{__dir__}/middleware/hijack"
    autoload :Index, "#{__dir__}/middleware/index"
    autoload :Notice, "#{__dir__}/middleware/notice"
    autoload :OnDemand, "#{__dir__}/middleware/on_demand"
    autoload :Route, "#{__dir__}/middleware/route"
    autoload :Shown, "#{__dir__}/middleware/shown"

    RESULT = "x-profiler-result"
    REFUSED = "x-profiler-refused"
    # The key of the recording in the env, for work on other threads; see {Recording#inside}.
    RECORDING = "profiler.recording"
    # The key that marks a request which {Pprof} handles: it waits on purpose, and is not slow.
    WAITS = "profiler.waits"
    # The key of the labels with which the request began.
    LABELS = "profiler.labels"
    # The key of the policy that Rails sends with its own pages. It would forbid the script of the profiler's page.
    RAILS_POLICY = "action_dispatch.content_security_policy"
    private_constant :RAILS_POLICY

    class << self
      # The recorder that is to save slow requests.
      #
      # @return [Flight, nil]
      # @api private
      attr_accessor :flight

      # Returns whether it is an env that Rack allows. An app gets anything else as it is.
      #
      # @api private
      def env?(object) = Hash === object && !object.frozen?
    end

    # @param app [#call]
    # @param permit [#call, nil] called with the env; decides who is authorized. Its changes to the session are undone
    # @param token [String, nil] 16 bytes or more; authorizes requests with the header +X-Profiler-Token+
    # @param parameter [String, nil] the query parameter; nil: only by header
    # @param route [#call, nil] called with the env; returns the label +route+: a pattern, not a path
    # @param permit_inside [Boolean] call +permit+ in an {OnDemand} further inside, where a requested profile begins
    # @param options [Hash] as for {Recording::Policy#initialize}: mode interval sample_rate slower_than out keep concurrency
    #   rate duration, and other options of {Profiler.start}
    # @raise [ArgumentError]
    def initialize(app, permit: nil, token: nil, parameter: "profile", route: nil, permit_inside: false, **options)
      @app = app
      @permit_inside = permit_inside
      @permission = Permission.new(permit, token)
      @parser = RequestParser.new(parameter)
      @route = Route.new(route)
      @policy = Recording::Policy.new(**options)
      @policy.describer = method(:describe)
      @shown = Shown.new(@policy)
      @index = Index.new(@policy, @shown, parameter)
      @notice = Notice.new(parameter)
      @idle = @policy.idle?
      @labels = defined?(Session) ? true : false
      Eager.load(Middleware) if defined?(Eager) # to load in a request is to be interrupted in the middle of it
    end

    def call(env)
      return @app.call(env) unless Middleware.env?(env)

      flight = Middleware.flight
      flight ? flight.time(env) { label(env) } : label(env)
    end

    # Handles a request that {OnDemand} received.
    #
    # @param question [OnDemand::Question]
    # @api private
    def on_demand(question, env, app)
      @permission.given?(env) ? answer(question.options_text, env, app, question.recordings, question) : app.call(env)
    end

    # Ends the recording of a request.
    #
    # @api private
    def finish(recording, status)
      recording.status = status
      @policy.quietly { recording.finish }
    end

    private

    # Labels the request for sessions that profile more than single requests, if there are any.
    def label(env)
      return profile(env) unless @labels && Session.covering?

      began_ns = Clock.now_ns unless env.fetch(LABELS, nil) # a middleware further out counts the request
      path = Route.path(env.fetch("SCRIPT_NAME", nil), env.fetch("PATH_INFO", nil))
      early = env[LABELS] = @route.early_labels(env, path)
      begin
        response = Profiler.label(early) { profile(env) }
      ensure
        count(env, path, early, response, began_ns)
      end
    end

    # Notes the endpoint of a request that has ended, and counts the request under it, even if it failed.
    def count(env, path, early, response, began_ns)
      status = response.first if Array === response
      labels = @route.learn(env, path, early, status)
      Native.count_request(labels || early, began_ns) if began_ns
    end

    # Calls the app, with a profile if the request has one.
    def profile(env)
      options_text = @parser.find_in(env)
      return @app.call(env) if @idle && !options_text

      @policy.guarded do |recordings|
        next defer_to_on_demand(options_text, env, recordings) if options_text && @permit_inside
        next answer(options_text, env, @app, recordings) if options_text && @permission.given?(env)

        recording = @policy.by_chance(recordings) unless @idle
        recording ? serve(env, recording, @app) : @app.call(env)
      end
    end

    # Leaves the response to {OnDemand}. An exception from there has become a response here, because Rails renders a page for
    # it.
    def defer_to_on_demand(options_text, env, recordings)
      recording = @policy.by_chance(recordings) unless @idle
      question = env[OnDemand::KEY] = OnDemand::Question.new(self, options_text, recordings, recording)
      response = recording ? serve(env, recording, @app) : @app.call(env)
      question.failed ? with_header(response, RESULT) { |status| finish(question.failed, status)&.id } : response
    ensure
      finish(question.failed, nil) if question&.failed
    end

    # Handles a request from an authorized client.
    #
    # @param recordings [Array<Recording>] see {Recording::Policy#guarded}
    # @param question [OnDemand::Question, nil] from further out
    def answer(options_text, env, app, recordings, question = nil)
      named = Shown.name?(options_text) && env.fetch("REQUEST_METHOD", nil) == "GET"
      # A page is not the app's work, and waits while any request is profiled.
      @policy.quietly { question&.outer&.discard } if named
      shown, recording, refused = attempt(options_text, named, env, recordings)
      if shown
        env.delete(RAILS_POLICY)
        return shown
      end
      if recording
        @policy.quietly { question&.outer&.discard }
        return with_notice(env, recording, serve(env, recording, app, question))
      end
      response = app.call(env)
      with_header(response, REFUSED) { refused }
    end

    # Starts a recording or finds a page. The app is not called here, because an error could still be current.
    #
    # @return [Array] a response, or a recording, or the reason of a refusal
    def attempt(options_text, named, env, recordings)
      return [Index.name?(options_text) ? @index.response(options_text, env.fetch("QUERY_STRING", nil)) : @shown.response(options_text)] if named

      [nil, @policy.on_demand(@parser.parse(options_text), recordings)]
    rescue *RESCUED_ERRORS => e
      [nil, nil, e.message.scrub("?").gsub(/[^ -~]/, "?")[0, 300]]
    end

    # Adds a header to a response that is one. The server refuses anything else in its own words.
    #
    # @yieldparam status [Object] that of the response
    # @yieldreturn [String, nil] the value; nil for none
    def with_header(response, name)
      parts = Array.try_convert(response) # as a server does
      value = yield parts&.first
      return response unless value && parts&.size == 3

      status, headers, body = parts
      [status, Headers.with(headers, name, value), body]
    end

    # Says where the profile is, in development.
    def with_notice(env, recording, response)
      return response unless Permission.development? && Array === response && response.size == 3 && recording.id == Headers.value_of(response[1], RESULT)

      @policy.quietly do
        path = Route.path(*recording.work.drop(1))
        @notice.log(env, recording.id, path)
        return @notice.with_link(env, response, recording, path)
      end
      response
    end

    def serve(env, recording, app, question = nil)
      env[RECORDING] = recording
      recording.work = [env, env.fetch("SCRIPT_NAME", nil), env.fetch("PATH_INFO", nil)] # apps change these two
      server = env.fetch("rack.hijack", nil)
      hijack = env["rack.hijack"] = Hijack.new(server, self, recording) if server
      response = recording.inside { app.call(env) }
      recording.discard if env.key?(WAITS)
      parts = Array.try_convert(response) # as a server does
      returned = parts&.size == 3
      # The server refuses anything else in its own words.
      returned ? respond(env, recording, hijack, *parts) : response
    ensure
      taken = hijack&.taken?
      recording.hand_over if taken
      # An exception or a throw, or no response.
      unless returned || taken
        question ? question.failed = recording : finish(recording, nil)
      end
    end

    def respond(env, recording, hijack, status, headers, body)
      return [status, headers, body] if hijack&.taken? || recording.over?

      partial = Headers.value_of(headers, "rack.hijack")
      is_plain = Array === body && body.instance_of?(Array) # a BasicObject does not respond to instance_of?
      return [status, named(finish(recording, status), headers, env), body] if is_plain && !partial # nothing is left to be done

      finishing = -> { finish(recording, status) }
      if partial
        headers = Headers.with(headers, "rack.hijack", until_closed(partial, recording, finishing))
      else
        body = Body.new(body, recording, &finishing)
      end
      recording.hand_over
      recording.status = status # it may be cut
      [status, will_be_kept?(recording) ? named(recording, headers, env) : headers, body]
    end

    def until_closed(partial, recording, finishing)
      lambda do |io|
        recording.inside { partial.call(io) }
        Hijack.until_closed(io, &finishing)
      rescue Exception # rubocop:disable Lint/RescueException -- it is raised again
        finishing.call
        raise
      end
    end

    def will_be_kept?(recording)
      recording.reason != :slow || @policy.slow?(recording.seconds)
    end

    # Returns the labels of a request whose profile is kept, even if some of them fail; the labels that its samples had before; and
    # its metadata.
    def describe(recording)
      env, *path = recording.work || [{}, nil, nil] # an exception from outside came first
      path, status = Route.path(*path), recording.status
      labels = @route.labels(env, path, status) || {}
      [labels, env.fetch(LABELS, nil) || {}, { **labels.slice(:route, :endpoint), method: AnyObject.utf8(env.fetch("REQUEST_METHOD", nil)), path: path, status: Route.status(status) }]
    end

    # Adds the name of the profile to the headers, for authorized clients.
    #
    # @param recorded [#id, #reason, nil]
    def named(recorded, headers, env)
      # A body that is still generated on another thread uses the env itself.
      return headers unless recorded && (recorded.reason == :requested || @permission.given?(env.dup))

      Headers.with(headers, RESULT, recorded.id)
    end
  end
end
