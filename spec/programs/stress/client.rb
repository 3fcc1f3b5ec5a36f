# frozen_string_literal: true

# Asks a process over its control socket until it gets no answer, and prints how often it got one: client.rb PID KIND
require "profiler/control/client"

pid, kind = ARGV
done = 0
begin
  Profiler::Control::Client.of(pid).then do |client|
    loop do
      case kind
      when "dumps" then client.ask(do: "dump", form: "json")
      when "sessions"
        client.ask(do: "start", options: { mode: %w[cpu wall allocations].sample }, bound: true)
        client.ask(do: %w[snapshot rotate stop].sample)
      when "visits"
        guest = Profiler::Control::Client.of(pid)
        guest.ask(do: "who")
        guest.ask(do: "start", options: {}, bound: rand < 0.9)
        guest.close
      end
      done += 1
    rescue Profiler::Control::Client::Failed => e
      raise if e.is_a?(Profiler::Control::Client::Gone) && kind != "visits" # a visit may find too many others

      raise unless e.message.match?(/sessions are running already|does not run|no session runs|busy|too many/)
    end
  end
rescue StandardError => e
  $stderr.puts("#{kind}: #{e.message}") unless e.message.include?("no answer") || e.message.include?("no control socket")
ensure
  puts done
end
