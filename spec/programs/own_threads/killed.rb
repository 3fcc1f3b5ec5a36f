# frozen_string_literal: true

# Kills all threads of a continuous session, a flight recorder and a control socket, lets garbage collections revive them, and ends
# the sessions after a second kill. Prints what runs in between.
require "json"
require "profiler"
require "tmpdir"

directory = Dir.mktmpdir
def burn = 300_000.times { |it| it.to_s }
def kill_all = (Thread.list - [Thread.current]).each(&:kill).each { |it| it.join(10) }
def collect = 40.times { GC.start; sleep 0.05; break true if yield }
socket = Profiler.control(directory: "#{directory}/control")
session = Profiler.continuous(period: 0.2, out: "#{directory}/profiles")
blocks = Profiler.flight_recorder(out: "#{directory}/flights")
kill_all
empty = Thread.list.size
killed = [session.running?, blocks.running?]
revived = collect { session.running? && blocks.running? && Profiler::Control.current }
before = session.delivered
delivered = 200.times { burn; sleep 0.05; break true if session.delivered > before + 1 }
kill_all
blocks.stop
session.stop
collect { false }
puts({ empty: empty, killed: killed, revived: revived, same: Profiler::Control.current.equal?(socket), delivered: delivered,
       after: [session.running?, blocks.running?, Thread.list.size] }.to_json)
