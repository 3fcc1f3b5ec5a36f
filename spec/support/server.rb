# frozen_string_literal: true

require "net/http"
require "socket"

# Servers of others, for specs: started, asked over HTTP, and ended.
module Server
  # Starts one on a port of its own. The block gets the port; then the server is ended by TERM and waited for.
  #
  # @param command [Array<String>] +PORT+ in it is replaced by the port
  # @param ready [String] a path that is answered with 200 once it is
  # @param patience [Numeric] seconds until then
  # @return [String] what it wrote
  def serving(*command, env: {}, chdir: Child::ROOT, ready: "/ready", patience: 60, log: File.join(box, "server.log"))
    port = free_port
    command = command.map { |word| word.gsub("PORT", port.to_s) }
    # Ruby's warnings are about the server's own code.
    pid = Process.spawn(Child::CLEAN.merge("RUBYOPT" => "-W0", "PORT" => port.to_s).merge(env), *command, chdir: chdir, pgroup: true,
                                                                                                          %i[out err] => [log, "w"])
    begin
      wait_until(patience) { answers?(port, ready) || (Process.wait(pid, Process::WNOHANG) && raise("it ended: #{File.read(log)}")) }
      yield port
    ensure
      Process.kill(:TERM, pid)
      ended = begin
        wait_until(20) { Process.wait(pid, Process::WNOHANG) }
      rescue Child::TimedOut
        Process.kill(:KILL, -pid)
        Process.wait(pid)
      end
    end
    raise "no end" unless ended

    File.read(log)
  end

  # @return [Net::HTTPResponse]
  def ask(port, path, headers = {}, timeout: 60)
    Net::HTTP.start("127.0.0.1", port, read_timeout: timeout, open_timeout: timeout) { |http| http.get(path, headers) }
  end

  private

  # A free port. Specs that run beside these have a range of their own: `rake spec` says which.
  def free_port
    return TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] } unless ENV["SPEC_PORTS"]

    ports = ENV["SPEC_PORTS"].to_i...(ENV["SPEC_PORTS"].to_i + 1_000)
    ports.to_a.shuffle.find { |port| TCPServer.open("127.0.0.1", port).close || true rescue false }
  end
  module_function :free_port

  def answers?(port, path)
    ask(port, path, timeout: 30).is_a?(Net::HTTPSuccess)
  rescue SystemCallError, Net::ReadTimeout, Net::OpenTimeout, EOFError
    false
  end
end
