# frozen_string_literal: true

# Opens the control socket of a program, which says when it is ready, and ends when a file is there. Specs look into it meanwhile.
require "profiler"

Profiler.control
def ready = File.write(File.join(ENV.fetch("BOX"), "ready"), "")
def over? = File.exist?(File.join(ENV.fetch("BOX"), "over"))
def wait_for_end = (sleep 0.01 until over?)
def named(name, &work) = Thread.new { Thread.current.name = name; work.call }
