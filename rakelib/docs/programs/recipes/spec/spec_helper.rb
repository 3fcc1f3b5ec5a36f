# frozen_string_literal: true

require "profiler/rspec"
