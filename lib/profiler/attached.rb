# frozen_string_literal: true

# `profiler attach` has a process load this file, on a Ruby thread of its own, each time that it attaches to the process. It needs nothing
# of the process's load path.
require_relative "../profiler"

Profiler::Control.attach
