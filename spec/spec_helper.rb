# frozen_string_literal: true

require_relative "support/box"
require_relative "support/child"

RSpec.configure do |config|
  config.disable_monkey_patching!
  config.expect_with(:rspec) { |expectations| expectations.syntax = :expect }
  config.order = :random # the seed is printed; `rspec --seed N` repeats a run
  Kernel.srand(config.seed)

  config.example_status_persistence_file_path = ".rspec_status"
  config.filter_run_when_matching :focus
  config.shared_context_metadata_behavior = :apply_to_host_groups
  config.include Child
end
