# frozen_string_literal: true

require_relative "support/box"
require_relative "support/child"
require_relative "support/timed"
require_relative "support/perf"
require_relative "support/preloaded"
require_relative "support/program"
require_relative "support/windows"

# Under nohup, or in the background of a shell, some signals are ignored, and would be in all programs that the specs start. The
# specs are about programs without that.
%w[HUP INT QUIT].each do |signal|
  before = trap(signal, "DEFAULT")
  trap(signal, before) unless before == "IGNORE"
end

# Many programs of the specs are in UTF-8, whatever the locale of the shell.
ENV["LC_ALL"] = "C.UTF-8"
Encoding.default_external = Encoding::UTF_8

RSpec.configure do |config|
  config.disable_monkey_patching!
  config.expect_with(:rspec) { |expectations| expectations.syntax = :expect }
  config.fail_if_no_examples = true
  config.order = :random # the seed is printed; `rspec --seed N` repeats a run
  Kernel.srand(config.seed)

  config.example_status_persistence_file_path = ".rspec_status"
  config.filter_run_when_matching :focus
  config.shared_context_metadata_behavior = :apply_to_host_groups
  config.include Child
end
