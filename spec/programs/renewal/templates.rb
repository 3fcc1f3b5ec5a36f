# frozen_string_literal: true

# Code of a template that is new at each run, and the number of handles for code that sessions keep. Needs the helpers.
require "erb"
require "objspace"

Made = Class.new
TEMPLATE = ERB.new("<% 2.times do %><%= Made.new && nil %><% end %>").src
def render = 200.times { eval(TEMPLATE, TOPLEVEL_BINDING.dup, "template.erb") }
def handles = Profiler::Testing.freeze_at(60)

# Waits until there are few handles again, through garbage collections.
def settle
  wait_for do
    GC.start
    10.times { |number| number.to_s }
    handles < 200
  end
end

def names(profile) = profile.samples.flat_map { |row| row.frames.map(&:name) }.uniq
