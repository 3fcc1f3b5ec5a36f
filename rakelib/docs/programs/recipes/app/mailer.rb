# frozen_string_literal: true

require_relative "reports"
TEMPLATES = (1..60_000).each_with_object({}) { |number, all| all["template #{number}"] = number.to_s * 20 }
