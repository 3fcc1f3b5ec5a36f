# frozen_string_literal: true

module Profiler
  class Middleware
    class Index
      # The page of the list: a table that its links sort, and a form that filters rows and compares two of them.
      class Page
        STYLE = <<~CSS
          :root { color-scheme: light dark; --line: #8884; --quiet: color-mix(in srgb, currentColor 70%, transparent); }
          body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
          h1 { font-size: 1.25rem; }
          p, small { color: var(--quiet); }
          .problem { color: inherit; font-weight: 600; }
          .choices { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: 1rem 0; }
          select, button { font: inherit; max-width: 20rem; }
          .scroll { overflow-x: auto; }
          table { border-collapse: collapse; width: 100%; }
          th { text-align: left; font-weight: 600; border-bottom: 2px solid var(--line); white-space: nowrap; }
          th, td { padding: .35rem .75rem .35rem 0; vertical-align: top; }
          td { border-bottom: 1px solid var(--line); }
          .work { min-width: 10rem; max-width: 22rem; overflow-wrap: break-word; }
          .finding { min-width: 16rem; max-width: 36rem; overflow-wrap: break-word; }
          .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
          .time { white-space: nowrap; font-variant-numeric: tabular-nums; }
          .radio { text-align: center; }
          meter { display: block; width: 5rem; height: .4rem; margin-left: auto; }
          small { display: block; }
        CSS
        # The columns that sort rows: the name, the heading and the class. Without a choice the newest is first.
        COLUMNS = [["time", "When (UTC)", nil], ["work", "Work", nil], ["status", "Status", nil], ["seconds", "Time", "number"], ["reason", "Kept as", nil]].freeze
        SIDES = %w[before after].freeze
        private_constant :STYLE, :COLUMNS, :SIDES

        # @param parameter [String, nil] the query parameter of links; nil: the page has neither links nor a form
        def initialize(parameter)
          @parameter = parameter
          Html # loaded now: to load in a request is to be interrupted in the middle of it
        end

        # @param count [Integer] of all profiles
        # @param rows [Hash{String => Row, nil}] by name, the newest first; nil for what was not read
        # @param choice [Choice]
        # @param problem [String, nil] a sentence above the table
        # @return [String]
        def html(count, rows, choice, problem = nil)
          shown = sorted(rows.transform_values { |row| row || NONE }.select { |_name, row| chosen?(row, choice) }, choice.sort)
          largest = shown.filter_map { |_name, row| row.seconds }.max
          <<~HTML
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>Profiles (#{count})</title>
            <style>#{STYLE}</style>
            <h1>Profiles</h1>
            <p>#{summary(count, rows, shown.size, choice.sort || "time")}</p>
            #{%(<p class="problem" role="alert">#{escape(problem)}.</p>) if problem}
            #{"<form>" if @parameter}#{choices(rows, choice) if @parameter && rows.any?}
            <div class="scroll"><table>
            <tr>#{headings(choice)}</tr>
            #{shown.map { |name, row| line(name, row, largest, choice) }.join("\n")}
            </table></div>
            #{"</form>" if @parameter}
            </html>
          HTML
        end

        private

        def escape(text) = Html.escape(text.to_s)

        def summary(count, rows, shown, sort)
          return "None is kept so far." if count.zero?

          unread = rows.values.count(nil)
          ["#{count} profile#{"s" unless count == 1}#{", the newest first" if sort == "time"}.", ("The newest #{MAX_ROWS} are shown." if count > MAX_ROWS),
           ("#{shown} #{shown == 1 ? "matches" : "match"}." if shown < rows.size), ("#{unread} were not read yet: load the page again." if unread.positive?)].compact.join(" ")
        end

        def chosen?(row, choice)
          (choice.work.nil? || row.work == choice.work) && (choice.reason.nil? || row.reason == choice.reason)
        end

        # Times and durations begin with the largest; words are in their order.
        def sorted(rows, sort)
          case sort
          when "seconds" then rows.sort_by.with_index { |(_name, row), place| [-(row.seconds || -1), place] }
          when "work", "status", "reason" then rows.sort_by.with_index { |(_name, row), place| [row[sort].to_s, place] }
          else rows.to_a
          end
        end

        # Returns the selects and buttons. The chosen order is part of the form.
        def choices(rows, choice)
          sort = %(<input type="hidden" name="sort" value="#{escape(choice.sort)}">) if choice.sort
          button = ->(value, text, more = "") { %(<button name="#{escape(@parameter)}" value="#{value}"#{more}>#{text}</button>) }
          %(<div class="choices">#{sort}#{select("work", "Work", rows, choice)}#{select("reason", "Kept as", rows, choice)}) +
            %(#{button.call(LIST, "Show", " formnovalidate")}#{button.call(COMPARE, "Compare before and after") if rows.size > 1}</div>)
        end

        def select(name, text, rows, choice)
          values = [*rows.values, choice].filter_map { |row| row && row[name] }.reject(&:empty?).uniq.sort
          options = values.map { |value| %(<option#{" selected" if value == choice[name]}>#{escape(value)}</option>) }
          %(<label>#{text} <select name="#{name}"><option value="">all</option>#{options.join}</select></label>)
        end

        def headings(choice)
          columns = COLUMNS.map do |name, text, kind|
            order = %( aria-sort="#{%w[time seconds].include?(name) ? "descending" : "ascending"}") if name == (choice.sort || "time")
            %(<th#{%( class="#{kind}") if kind}#{order}>#{@parameter ? %(<a href="#{escape(sorting(name, choice))}">#{text}</a>) : text})
          end
          sides = @parameter ? SIDES.map { |side| %(<th class="radio">#{side.capitalize}) } : []
          [*columns, "<th>What stands out", *sides].join
        end

        # Returns the address of the list in another order.
        def sorting(name, choice)
          "?#{URI.encode_www_form({ @parameter => LIST, "sort" => name, "work" => choice.work, "reason" => choice.reason }.compact)}"
        end

        def line(name, row, largest, choice)
          time = escape(row.time || name)
          time = %(<a href="?#{escape(@parameter)}=#{escape(name)}">#{time}</a>) if @parameter
          sides = @parameter ? SIDES.map { |side| radio(side, name, row, choice) } : []
          %(<tr><td class="time">#{time}<td class="work">#{escape(row.work)}<td>#{escape(row.status)}<td class="number">#{duration(row.seconds, largest)}<td>#{escape(row.reason)}) +
            %(<td class="finding">#{escape(row.finding)}<small>#{escape(row.place)}</small>#{sides.join}</tr>)
        end

        def radio(side, name, row, choice)
          %(<td class="radio"><input type="radio" name="#{side}" value="#{escape(name)}" required#{" checked" if choice[side] == name} aria-label="#{side}: #{escape(row.time || name)}">)
        end

        def duration(seconds, largest)
          return "" unless seconds

          %(#{seconds < 1 ? "#{(seconds * 1000).round} ms" : format("%.2f s", seconds)}<meter max="#{largest}" value="#{seconds}"></meter>)
        end
      end
    end
  end
end
