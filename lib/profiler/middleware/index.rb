# frozen_string_literal: true

module Profiler
  class Middleware
    # Responds to +?profile=list+ with the page of the profiles that are kept, the newest first, in place of the app's response. Each
    # row leads to the page of its profile.
    class Index
      LIST = "list"
      # The largest number of rows in the page.
      MOST = 100
      # The time in seconds that a response may take to read profiles. The remaining rows have no facts; the next response has
      # more.
      PATIENCE = 2.0
      # The content security policy: the page has no script and loads no resources.
      POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
      HEADERS = { "content-type" => "text/html; charset=utf-8", "content-security-policy" => POLICY, "cache-control" => "no-store",
                  "x-content-type-options" => "nosniff", "referrer-policy" => "no-referrer" }.freeze
      # Findings that name no cause.
      ASIDE = %i[idle trust].freeze
      STYLE = <<~CSS
        :root { color-scheme: light dark; --line: #8884; }
        body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
        h1 { font-size: 1.25rem; }
        p { color: color-mix(in srgb, currentColor 70%, transparent); }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; }
        th { text-align: left; font-weight: 600; border-bottom: 2px solid var(--line); white-space: nowrap; }
        th, td { padding: .35rem .75rem .35rem 0; vertical-align: top; }
        td { border-bottom: 1px solid var(--line); }
        .long { overflow-wrap: anywhere; }
        .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .time { white-space: nowrap; font-variant-numeric: tabular-nums; }
        meter { display: block; width: 5rem; height: .4rem; margin-left: auto; }
        small { display: block; color: color-mix(in srgb, currentColor 60%, transparent); }
      CSS
      private_constant :POLICY, :HEADERS, :ASIDE, :STYLE

      # The facts of a kept profile, as Strings. +seconds+ is a Float or nil.
      Row = Struct.new(:time, :work, :status, :seconds, :reason, :finding, :place, keyword_init: true)
      # The row of what no profile could be read from.
      NONE = Row.new.freeze
      private_constant :Row, :NONE

      # @param policy [Recording::Policy]
      # @param parameter [String, nil] the query parameter of links; nil: the page has none
      def initialize(policy, parameter)
        @policy = policy
        @parameter = parameter
        @rows = {} # by name: what a file of a name has in it never changes
        @reading = Mutex.new
        Html # loaded now: to load in a request is to be interrupted in the middle of it
      end

      # @return [Array] a response
      # @raise [Recording::Refused] if the store cannot list
      def response
        names = @policy.list or raise Recording::Refused, "the profiles of this store cannot be listed"
        page = html(names.size, names.first(MOST))
        [200, HEADERS.merge("content-length" => page.bytesize.to_s), [page]]
      end

      private

      def html(count, names)
        rows = rows_of(names)
        largest = rows.values.filter_map { |row| row&.seconds }.max
        lines = rows.map { |name, row| line(name, row || NONE, largest) }
        <<~HTML
          <!doctype html>
          <html lang="en">
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width">
          <title>Profiles (#{count})</title>
          <style>#{STYLE}</style>
          <h1>Profiles</h1>
          <p>#{summary(count, rows)}</p>
          <div class="scroll"><table>
          <tr><th>When (UTC)<th>Work<th>Status<th class="number">Seconds<th>Kept as<th>What stands out</tr>
          #{lines.join("\n")}
          </table></div>
          </html>
        HTML
      end

      def summary(count, rows)
        return "None is kept so far." if count.zero?

        unread = rows.values.count(nil)
        ["#{count} profile#{"s" unless count == 1}, the newest first.", ("The newest #{MOST} are shown." if count > MOST),
         ("#{unread} were not read yet: load the page again." if unread.positive?)].compact.join(" ")
      end

      def line(name, row, largest)
        time = row.time || name
        time = %(<a href="?#{Html.escape(@parameter)}=#{Html.escape(name)}">#{Html.escape(time)}</a>) if @parameter
        work, status, reason, finding, place = row.to_h.values_at(:work, :status, :reason, :finding, :place).map { |text| Html.escape(text.to_s) }
        %(<tr><td class="time">#{time}<td class="long">#{work}<td>#{status}<td class="number">#{seconds(row.seconds, largest)}<td>#{reason}<td class="long">#{finding}<small>#{place}</small></tr>)
      end

      def seconds(seconds, largest)
        return "" unless seconds

        %(#{format("%.3f", seconds)}<meter max="#{largest}" value="#{seconds}"></meter>)
      end

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
                finding: finding && [finding[:share] && format("%.1f %%", finding[:share] * 100), finding[:text]].compact.join(" "),
                place: finding && [short(finding[:path]), finding[:line]].compact.join(":")).freeze
      end

      # The path below the working directory.
      def short(path)
        path&.delete_prefix("#{Dir.pwd}/")
      rescue SystemCallError
        path # the directory is gone
      end
    end
  end
end
