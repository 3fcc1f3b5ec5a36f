# frozen_string_literal: true

require "uri"

module Profiler
  class Middleware
    # Responds to +?profile=list+ with the page of the profiles that are kept, the newest first, in place of the app's response. Each
    # row leads to the page of its profile. Two of them are compared by +?profile=compare+.
    class Index
      autoload :Page, "#{__dir__}/index/page"

      LIST = "list"
      COMPARE = "compare"
      NAMES = [LIST, COMPARE].freeze
      # The largest number of rows in the page.
      MAX_ROWS = 100
      # The time in seconds that a response may take to read profiles. The remaining rows have no facts; the next response has
      # more.
      PATIENCE = 2.0
      # The content security policy: the page has no script and loads no resources. Its form leads to the list itself.
      POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
      HEADERS = { "content-type" => "text/html; charset=utf-8", "content-security-policy" => POLICY, "cache-control" => "no-store",
                  "x-content-type-options" => "nosniff", "referrer-policy" => "no-referrer" }.freeze
      # Findings that name no cause.
      ASIDE = %i[idle trust].freeze
      private_constant :POLICY, :HEADERS, :ASIDE

      # The facts of a kept profile, as Strings. +seconds+ is a Float or nil.
      Row = Struct.new(:time, :work, :status, :seconds, :reason, :finding, :place, keyword_init: true)
      # The row of a file that contains no readable profile, or was not read yet.
      NONE = Row.new.freeze
      private_constant :NONE

      # The choices of a client: a column to sort by, the work and the reason of the rows, and two profiles to compare.
      Choice = Struct.new(:sort, :work, :reason, :before, :after, keyword_init: true) do
        # @param query [String, nil] as in the address
        def self.of(query)
          pairs = URI.decode_www_form(query.to_s.b).to_h.slice(*members.map(&:to_s))
          new(**pairs.transform_keys(&:to_sym).transform_values { |it| it.dup.force_encoding(Encoding::UTF_8).scrub("?") }.reject { |_name, it| it.empty? })
        rescue ArgumentError
          new # it is not a query of this page
        end
      end

      # @param options_text [String]
      def self.name?(options_text) = NAMES.include?(options_text)

      # @param policy [Recording::Policy]
      # @param shown [Shown] compares profiles
      # @param parameter [String, nil] the query parameter of links; nil: the page has none
      def initialize(policy, shown, parameter)
        @policy = policy
        @shown = shown
        @page = Page.new(parameter)
        @rows = {} # by name: what a file of a name has in it never changes
        @reading = Mutex.new
      end

      # @param name [String] {LIST} or {COMPARE}
      # @param query [String, nil] of the request
      # @return [Array] a response
      # @raise [Recording::Refused] if the store cannot list
      def response(name = LIST, query = nil)
        names = @policy.list or raise Recording::Refused, "the profiles of this store cannot be listed"
        choice = Choice.of(query)
        begin
          return @shown.comparison(choice.before, choice.after) if name == COMPARE
        rescue Recording::Refused => e
          problem = e.message
        end
        page = @page.html(names.size, rows_of(names.first(MAX_ROWS)), choice, problem)
        [200, HEADERS.merge("content-length" => page.bytesize.to_s), [page]]
      end

      private

      # @return [Hash{String => Row, nil}] nil for what there was no time to read
      def rows_of(names)
        @reading.synchronize do
          till = Clock.now + PATIENCE
          @rows.keep_if { |name, _row| names.include?(name) }
          names.to_h { |name| [name, @rows[name] || (Clock.now < till ? @rows[name] = read(name) : nil)] }
        end
      end

      def read(name)
        profile = @policy.read(name)
        profile ? row(profile) : NONE
      rescue FormatError
        Row.new(finding: "in a format that is not read here").freeze
      rescue SystemCallError
        Row.new(finding: "cannot be read").freeze # the others can
      end

      def row(profile)
        facts = profile.meta[:metadata]
        finding = profile.findings.find { |it| !ASIDE.include?(it[:kind]) }
        Row.new(time: Time.at(0, profile.meta[:started_at_ns], :nsec).utc.strftime("%F %T"),
                work: facts["endpoint"] || facts["job"] || facts.values_at("method", "path").compact.join(" "),
                status: facts["status"], seconds: Float(facts["seconds"], exception: false), reason: facts["reason"],
                finding: finding && [finding[:share] && format("%.1f%%", finding[:share] * 100), finding[:text]].compact.join(" "),
                place: finding && [short(finding[:path]), finding[:line]].compact.join(":")).freeze
      end

      # Returns the path relative to the working directory.
      def short(path)
        path&.delete_prefix("#{Dir.pwd}/")
      rescue SystemCallError
        path # the directory is gone
      end
    end
  end
end
