# frozen_string_literal: true

module Compatibility
  # A test that ends otherwise with us, for a reason that a user would accept. rubies is a requirement as of RubyGems; it and
  # ways are nil where it is all of them.
  Difference = Struct.new(:suite, :test, :ways, :rubies, :reason, keyword_init: true) do
    def of?(suite, test, way)
      self.suite == suite && self.test === test && (ways.nil? || ways.include?(way)) &&
        (rubies.nil? || Gem::Requirement.new(rubies).satisfied_by?(Gem::Version.new(RUBY_VERSION)))
    end
  end

  DIFFERENCES = [
    Difference.new(
      suite: "ruby", test: "Fiddle::TestFunction#test_nogvl_poll", ways: %w[time labels], rubies: "< 3.3",
      reason: "before Ruby 3.3 :wall interrupts those that wait, and poll(2), called without Ruby, returns EINTR and not 0"
    ),
    Difference.new(
      suite: "puma", test: "TestIntegrationPumactl#test_phased_restart_cluster",
      reason: "demands that a restart takes less than 6 s, of which it takes 5.9 without us; 6.1 with us, and it may fail without us too"
    )
  ].freeze

  # @return [String, nil]
  def self.reason(suite, test, way)
    DIFFERENCES.find { |it| it.of?(suite, test, way) }&.reason
  end
end
