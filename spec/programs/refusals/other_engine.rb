# frozen_string_literal: true

# Preloaded: makes this Ruby look like one that the profiler does not support.
Object.send(:remove_const, :RUBY_ENGINE)
RUBY_ENGINE = "fastruby"
