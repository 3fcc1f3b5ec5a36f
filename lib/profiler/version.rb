# frozen_string_literal: true

module Profiler
  VERSION = "0.1.0"
end
