# frozen_string_literal: true

# Pauses and resumes a session. Prints its states, and which methods its snapshot and its profile have.
require_relative "../helpers"

def first = burn(150)
def second = burn(150)
def third = burn(150)
has = ->(profile) { %w[first second third].map { |it| samples_in(profile, "Object##{it}").any? } }
session = Profiler.start
first
session.pause.pause
states = [[session.paused?, session.running?, session.inspect]]
second
session.resume.resume
states << [session.paused?, session.running?, session.inspect]
third
so_far = has.(session.snapshot)
whole = has.(session.stop)
paused, running, inspected = states.transpose
print_json(paused: paused, running: running, inspected: inspected + [session.inspect], so_far: so_far, whole: whole)
