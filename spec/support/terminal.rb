# frozen_string_literal: true

# Programs whose input and output are a terminal. A system without pseudo-terminals has none: then an example is
# left out, and says why.
module Terminal
  # Why there is none, or nil.
  def self.lack
    return @lack if defined?(@lack)

    require "pty"
    PTY.open { }
    @lack = nil
  rescue LoadError, SystemCallError, RuntimeError => e
    @lack = e.message
  end

  # @param command [Array<String>]
  # @param env [Hash]
  # @yield [IO] what writes to the terminal as a keyboard does
  # @return [Array(String, Process::Status)] what the program printed
  def terminal_child(*command, env: {})
    skip "this system gives no pseudo-terminal: #{Terminal.lack}" if Terminal.lack

    output, input, pid = PTY.spawn(Child::CLEAN.merge("TERM" => "xterm").merge(env), *command)
    yield input if block_given?
    text = +""
    begin
      loop { text << output.readpartial(4096) }
    rescue Errno::EIO, EOFError
      _pid, status = Process.wait2(pid)
    end
    [text, status]
  ensure
    [output, input].compact.each(&:close)
  end
end
