# frozen_string_literal: true

FORMATS = Array.new(40_000) { |number| "format #{number}" * 3 }
