# frozen_string_literal: true


module Profiler
  # Profiles of this process over HTTP, for <tt>go tool pprof</tt>, Parca, Alloy and Prometheus. A Rack app (Rack 2 and 3) with
  # the paths of Go's net/http/pprof.
  #
  #   map("/debug/pprof") { run Profiler::Pprof.new(token: ENV["PROFILER_TOKEN"]) }   # config.ru
  #   mount Profiler::Pprof.new(permit: ->(env) { ... }) => "/debug/pprof"            # Rails
  #   use Profiler::Pprof, token: ENV["PROFILER_TOKEN"]                               # as a middleware, at +/debug/pprof+
  #
  # <tt>/profile?seconds=N</tt>, <tt>/wall?seconds=N</tt> and <tt>/allocs?seconds=N</tt> are recorded while the client waits,
  # each by a session of its own. +/heap+ contains what a continuous session with that mode tracks. +/memory+, +/threads+ and
  # +/metrics+ are text.
  #
  # Unauthorized clients get the 404 that Rack or Rails sends for an unknown path, or from the middleware, the app's own
  # response. Without +permit+ and +token+, only requests from this machine are authorized, in development.
  #
  # A profile is recorded on the thread of the request, which sleeps until it is complete. So scrapers do not disturb one another, and no
  # {Profiler.stop} ends it. The profile is taken gently, like the profile of a period. A request that records marks its env, so that
  # a middleware or flight recorder further out does not count it as slow. Without a token, requests that a page of another site
  # may have caused are refused too, see {Permission::Local}.
  class Pprof
    autoload :Answer, "#{__dir__}/pprof/answer"
    autoload :Client, "#{__dir__}/pprof/client"
    autoload :Connections, "#{__dir__}/pprof/connections"
    autoload :Head, "#{__dir__}/pprof/head"
    autoload :Index, "#{__dir__}/pprof/index"
    autoload :Listener, "#{__dir__}/pprof/listener"
    autoload :Query, "#{__dir__}/pprof/query"
    autoload :Sessions, "#{__dir__}/pprof/sessions"
    autoload :TcpAddress, "#{__dir__}/pprof/tcp_address"
    autoload :Threads, "#{__dir__}/pprof/threads"

    # The path of the middleware.
    AT = "/debug/pprof"

    # A profile that is recorded on request: its mode and family, and the seconds where none are requested.
    Kind = Struct.new(:mode, :seconds, :family)
    KINDS = { "/profile" => Kind.new(:cpu, 30, "cpu").freeze, "/wall" => Kind.new(:wall, 30, "wall").freeze,
              "/allocs" => Kind.new(:allocations, 10, "allocations").freeze }.freeze
    METHODS = %w[GET HEAD].freeze
    NO_HEAP = "no continuous session tracks live objects in this process. Start one: Profiler.continuous(mode: %i[cpu heap], out: ...), or " \
              "PROFILER_CONTINUOUS=1 PROFILER_MODE=cpu,heap"
    NO_LEDGER = "no ledger was requested before: request /memory once, and later with since=1"
    private_constant :Kind, :KINDS, :METHODS, :NO_HEAP, :NO_LEDGER

    class << self
      # Answers the same requests without Rack, on its own thread: +/debug/pprof/+ and +/metrics+. A forked child does not
      # listen, unless the path of a socket contains +%p+, the pid.
      #
      #   Profiler::Pprof.listen("127.0.0.1:6060", token: ENV["PROFILER_TOKEN"])
      #   Profiler::Pprof.listen("/run/app/pprof-%p.sock")
      #
      # @param address [String] +HOST:PORT+, where port 0 is any free one, or the path of a Unix socket, which gets mode 0600
      # @param token [String, nil] required for other than loopback addresses
      # @param permit [#call, nil] on TCP it or the token is required
      # @param options [Hash] as for {initialize}
      # @return [Listener]
      # @raise [ArgumentError] for a value that is not allowed
      # @raise [SystemCallError, SocketError] if the address cannot be used
      # @raise [Unsupported] if this process cannot be profiled
      def listen(address, token: nil, permit: nil, **options)
        reason = Platform.unsupported_reason
        raise Unsupported, reason if reason

        Platform.require_main_ractor
        Listener.start(address, token: token, permit: permit, **options)
      end
    end

    # @param app [#call, nil] the app, where this is a middleware
    # @param at [String] the path of the middleware
    # @param permit [#call, nil] called with the env; decides who is authorized. Its changes to the session are undone
    # @param token [String, nil] 16 bytes or more; authorizes requests with <tt>Authorization: Bearer</tt> or +X-Profiler-Token+
    # @param concurrency [Integer] profiles that are recorded at once in a process
    # @param frequency [Integer] samples a second of +/profile+ and +/wall+
    # @param max_overhead [Float, nil] the largest share of the process's CPU time that these may take
    # @param most_seconds [Integer] the longest profile that can be requested
    # @param dimensions [Array<String, Symbol>] labels of samples that a profile has; in backends each value can become a series
    # @raise [ArgumentError] for a value that is not allowed
    def initialize(app = nil, at: AT, permit: nil, token: nil, concurrency: 4, frequency: 100, max_overhead: 0.01, most_seconds: 60,
                   dimensions: %w[endpoint job])
      AnyObject.integer("concurrency", concurrency)
      AnyObject.integer("most_seconds", most_seconds)
      raise ArgumentError, "at: #{AnyObject.text(at)} is not a path (allowed: for example /debug/pprof)" unless String === at && at.encoding.ascii_compatible? && at.match?(%r{\A(?:/[^/]+)+\z})

      @timed = { frequency: frequency, max_overhead: max_overhead }.compact
      Session.check(mode: :cpu, **@timed) if defined?(Session)
      @app = app
      @at = at
      @permission = Permission.new(permit, token, bearer: true)
      @checks_origin = token.nil?
      @most_seconds = most_seconds
      @dimensions = AnyObject.words("dimensions", dimensions)
      @sessions = Sessions.new(concurrency)
      @losses = Losses.new("a request for a profile failed")
      # Everything is loaded now, because loading during a request could be interrupted halfway.
      [Answer, Client, Index, Ledger, Metrics, Middleware, Query, Threads, (Continuous if defined?(Session))]
    end

    def call(env)
      return @app.call(env) if @app && !Middleware.env?(env)

      path = path_in(env)
      return @app.call(env) if @app && (path.nil? || !permitted?(env))
      return Answer.absent(env) unless @app || permitted?(env)

      response = answer(env, path)
      env.fetch("REQUEST_METHOD", nil) == "HEAD" ? Answer.head(response) : response
    end

    # Returns whether the request has the token, if there is one.
    #
    # @api private
    def token?(env) = @checks_origin || @permission.token?(env)

    private

    # Returns the path below that of this app; nil if it is outside.
    def path_in(env)
      path = env.fetch("PATH_INFO", nil)
      path = "" unless String === path
      return path unless @app

      path.delete_prefix(@at) if path.start_with?(@at) && [nil, "/"].include?(path[@at.size])
    end

    def permitted?(env)
      return refuse_foreign(env) if @checks_origin && Permission::Local.foreign?(env)

      @permission.given?(env)
    end

    # @return [false]
    def refuse_foreign(env)
      unless @warned
        @warned = true
        Losses.warn("a request for a profile was refused, because a page of another site may have caused it (Host: #{env.fetch("HTTP_HOST", nil).to_s.b[0, 60].inspect}); " \
                   "with token: such requests are allowed")
      end
      false
    end

    def answer(env, path)
      return Answer.text(405, "only GET and HEAD are allowed", "allow" => METHODS.join(", ")) unless METHODS.include?(env.fetch("REQUEST_METHOD", nil))

      head = env.fetch("REQUEST_METHOD", nil) == "HEAD"
      case path
      when "", "/" then Answer.page(Index.html(env.fetch("SCRIPT_NAME", nil).to_s + (@app ? @at : ""), path))
      when "/threads" then Answer.text(200, head ? "" : Threads.text)
      when "/metrics" then Answer.metrics(head ? "" : Metrics.text)
      when "/heap" then heap(env, head)
      when "/memory" then memory(env, head)
      else
        kind = KINDS[path]
        kind ? record(env, path, kind, head) : Answer.text(404, "unknown path (allowed: #{Index::PATHS.keys.join(", ")})")
      end
    rescue ArgumentError => e
      Answer.text(400, e.message)
    rescue Sessions::Full => e
      Answer.text(503, e.message, "retry-after" => e.seconds.to_s)
    rescue *RESCUED_ERRORS => e
      Answer.text(503, e.message)
    end

    def record(env, path, kind, head)
      query = Query.new(env.fetch("QUERY_STRING", nil))
      seconds = query.seconds([kind.seconds, @most_seconds].min, @most_seconds)
      query.require_binary
      require_support
      return Answer.file(path, "") if head

      wait_on_purpose(env)
      options = kind.mode == :allocations ? { mode: kind.mode } : { mode: kind.mode, **@timed }
      client = Client.of(env)
      profile = @sessions.record(options, seconds, client)
      # If the client has gone, no one reads this response.
      profile ? Answer.file(path, encode(profile, kind.family)) : Answer.text(503, "the client has gone")
    end

    # Keeps a {Middleware} further out from recording this request as a slow or sampled one.
    def wait_on_purpose(env)
      env[Middleware::WAITS] = true
      env.fetch(Middleware::RECORDING, nil)&.discard
    end

    def heap(env, head)
      query = Query.new(env.fetch("QUERY_STRING", nil))
      query.require_no_seconds("heap: is a snapshot, so seconds: does not apply")
      query.require_binary
      require_support
      continuous = Continuous.current
      return Answer.text(404, NO_HEAP) unless continuous&.tracks_live_objects?
      return Answer.file("/heap", "") if head

      profile = @sessions.hold { continuous.live_objects }
      profile ? Answer.file("/heap", encode(profile, "heap")) : Answer.text(404, NO_HEAP)
    end

    # Serves where the memory of this process is.
    def memory(env, head)
      query = Query.new(env.fetch("QUERY_STRING", nil))
      owners, json, since = query.flag("owners"), query.flag("json"), query.flag("since")
      options = { owners: owners, why: query.text("why"), max_pause: query.number("max_pause") }.compact
      require_support
      before = @ledger if since
      return Answer.text(404, NO_LEDGER) if since && !before
      return json ? Answer.json("") : Answer.text(200, "") if head

      wait_on_purpose(env)
      ledger = @sessions.hold { Profiler.memory(**options) }
      @ledger = ledger
      shown = before ? ledger.since(before) : ledger
      json ? Answer.json(shown.to_json) : Answer.text(200, shown.to_s)
    end

    def require_support
      reason = Platform.unsupported_reason
      raise Unsupported, reason if reason
    end

    # Scrapers take an empty body for an error, so a profile without samples is sent whole.
    def encode(profile, family)
      profile.upload(:pprof, family: family, dimensions: @dimensions) || profile.to_pprof
    end
  end
end
