# frozen_string_literal: true

require "io/console"
require_relative "../../process/clock"
require_relative "facts"
require_relative "keys"
require_relative "ranking_view"
require_relative "windows"

module Profiler
  module CLI
    # The screen of +profiler top+. A thread fetches the windows, so that keys work even while the process does not respond.
    class Screen
      # How long the process may be silent before the screen says so, in seconds.
      LATE = 3
      # The number of rows outside of the table: two about the process, one about the table, its heading, and the keys.
      AROUND = 5
      HELP = <<~TEXT
        m  methods               o  sort by self or total weight
        l  lines                 y  the next sample type
        t  threads               /  filter by a part of the name or place
        s  states                p  pause, or resume    
        c  classes of objects    w  write what was seen to a file
        b  the next label        d  a dump of all threads

        Up and down select, Enter shows callers, callees and lines of a method,
        Esc goes back, q quits.

        The table shows the last window. Threads that only waited in it are
        left out.
      TEXT
      KEYS = "mltscb rows  o sort  y type  / filter  Enter open  p pause  w write  d dump  h q"
      ROWS = { "m" => "methods", "l" => "lines", "t" => "thread", "s" => "state", "c" => "class" }.freeze
      private_constant :LATE, :AROUND, :HELP, :KEYS, :ROWS

      # @param windows [Windows]
      # @param view [RankingView]
      # @param who [Hash] the process
      # @param color [Boolean]
      # @yieldreturn [Control::Client] another connection to the process
      def initialize(windows, view, who, color, &connect)
        @windows = windows
        @view = view
        @who = who
        @color = color
        @connect = connect
        @arrived = Queue.new
        @selected = @first = 0
        @shown = :table
        @message = "the first window ends in #{windows.length} s"
      end

      # Shows it until the user quits, or the process ends.
      #
      # @raise [Failure] if the process has gone
      def run
        @console = IO.console or raise Failure, "there is no terminal"
        @wake, @waker = IO.pipe
        before = trap(:WINCH) { wake }
        taking = Thread.new { take_windows }
        taking.report_on_exception = false
        @console.raw { show_until_quit }
        raise @failure if @failure
      rescue EOFError, Errno::EIO, Errno::ENXIO, Errno::ENOTTY
        nil # the terminal was closed
      ensure
        taking&.kill
        trap(:WINCH, before || "DEFAULT")
        leave_screen
      end

      private

      def leave_screen
        @console&.goto(height - 1, 0)
        @console&.write("\r\n")
      rescue SystemCallError, IOError
        nil # the terminal was closed
      end

      def take_windows
        loop do
          @arrived << @windows.next
          wake
        end
      rescue Control::Client::Failed, FormatError => e
        @arrived << Failure.new(e.message)
        wake
      end

      def wake
        @waker.write_nonblock(".")
      rescue IO::WaitWritable
        nil # it will
      end

      def show_until_quit
        @console.clear_screen
        until @over
          draw
          ready, = IO.select([@console, @wake], nil, nil, LATE)
          @wake.read_nonblock(4_096) if ready&.include?(@wake)
          Keys.of(@console.readpartial(4_096)).each { |key| press(key) } if ready&.include?(@console)
          receive
        end
      end

      def receive
        until @arrived.empty?
          case (arrived = @arrived.pop)
          when Failure then (@failure, @over = arrived, true)
          else arrive(arrived)
          end
        end
      end

      def arrive(window)
        @answered = Clock.now
        return if @paused

        @before, @window = @window, window
        @message = nil
      end

      def press(key)
        return edit(key) if @editing
        return @over = true if key == "q"
        return move(key) if key.is_a?(Symbol)

        @message = nil
        case key
        when *ROWS.keys then show(ROWS.fetch(key))
        when "o" then @view.turn
        when "/" then @editing = +""
        when "p" then @paused = !@paused
        when "h", "?" then @shown = :help
        when "d" then dump
        when "b", "y", "w" then with_window { with_key(key) }
        end
      end

      def with_window
        @window ? yield : @message = "no window has ended yet"
      end

      def with_key(key)
        case key
        when "y" then @view.next_type(@window)
        when "w" then write
        when "b" then (@view.next_label(@window) and show(@view.by)) or @message = "no sample has a label"
        end
      end

      def show(by)
        @view.by = by
        @shown = :table
        @selected = @first = 0
      end

      def edit(key)
        case key
        when :enter then (@view.filter, @editing, @selected = @editing, nil, 0)
        when :escape then @editing = nil
        when :backspace then @editing.chop!
        when String then @editing << key
        end
      end

      def move(key)
        case key
        when :up then @selected -= 1
        when :down then @selected += 1
        when :page_up then @selected -= page
        when :page_down then @selected += page
        when :home then @selected = 0
        when :enter then open_method
        when :escape then (@shown, @view.filter = :table, "")
        end
      end

      # Shows the selected method, by its name, as each window has its own numbers.
      def open_method
        with_window do
          name, place, _total, _own, function = rows[@selected]
          function ? (@shown, @method = :method, [name, place]) : @message = "only methods can be opened: press m to list them"
        end
      end

      def dump
        client = @connect.call
        _, text = client.ask(do: "dump", form: "text")
        @dump = Control::Client.harmless(text)
        @shown = :dump
      rescue Control::Client::Failed => e
        @message = e.message
      ensure
        client&.close
      end

      def write
        path = "top-#{Time.now.strftime("%Y%m%d-%H%M%S")}.pb.gz"
        @windows.seen.save(path)
        @message = "wrote #{path}"
      rescue SystemCallError => e
        @message = "cannot write #{path}: #{CLI.reason(e)}"
      end

      def height = [size[0], AROUND + 1].max
      def width = [size[1], 20].max
      def page = height - AROUND
      def size = @console.winsize

      def draw
        lines = [title, facts, *body]
        (height - 1).times { |row| put(row, lines[row].to_s) }
        put(height - 1, footer)
      end

      def put(row, line)
        @console.goto(row, 0)
        @console.erase_line(0)
        @console.write(line)
      end

      def title
        seconds = @answered && (Clock.now - @answered)
        late = " (no answer for #{seconds.round} s; d: dump)" if seconds && seconds > @windows.length + LATE
        cut("profiler top #{@who.fetch("pid")}#{late || (" (paused)" if @paused)}  #{@who.fetch("program")}")
      end

      def facts
        return cut(@who.fetch("ruby")) unless @window

        cut(Facts.of(@window).join("   "))
      end

      def body
        return ["", *HELP.lines(chomp: true).map { |it| cut(it) }] if @shown == :help
        return ["", *@dump.lines(chomp: true).map { |it| cut(it) }] if @shown == :dump
        return [] unless @window

        @shown == :method ? ["", *method_lines] : table
      end

      # Returns the rows, or none if the window has no sample with the label.
      def rows
        @view.rows(@window)
      rescue ArgumentError
        []
      end

      def table
        @selected = @selected.clamp(0, [rows.size - 1, 0].max)
        @first = @first.clamp([@selected - page + 1, 0].max, @selected)
        [cut(@view.summary(@window)),
         *@view.table(@window, @before, height: page, columns: width, color: @color, first: @first, selected: @selected)]
      rescue ArgumentError => e
        [cut(e.message)] # a label that this window does not have
      end

      def method_lines
        _, _, _, _, function = rows.find { |name, place,| [name, place] == @method }
        return [cut("#{@method.first} is not in this window")] unless function

        options = { type: @view.type(@window), columns: width, color: @color, limit: 10 }
        Native.methods_text(@window.profile, [function], options).lines(chomp: true).first(height - 4)
      end

      def footer
        return cut("filter: #{@editing}_") if @editing
        return cut(@message) if @message

        cut(width < KEYS.size ? "h help  q quit" : KEYS)
      end

      def cut(text)
        text = "#{text[/\A */]}#{Native.clean(text)}"
        text.size > width ? "#{text[0, width - 1]}…".encode(Encoding.default_external, fallback: ->(_) { "~" }) : text
      end
    end
  end
end
