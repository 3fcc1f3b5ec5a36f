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

  SIGNALS = "before Ruby 3.3 :wall interrupts those that wait: IO#sysread of an empty pipe raises EAGAIN then, and a buffer is unlocked for a moment"
  DEBUGGED = "ruby -d shows every exception that a library raises and rescues, ours too"
  REDEFINED = "gives Integer#-, Hash#[], String#== or another core method a new meaning, which the Ruby code that writes the profile " \
              "at exit cannot work with; a line on stderr says so"
  REDEFINING = /\A(?:TestRubyOptimization#test_\w+\??|TestRange#test_last_with_redefine_each|TestTRICK2015#test_eregon)\z/

  DIFFERENCES = [
    *%w[test_sysread_locktmp test_sysread_unlocktmp_ensure test_readpartial_lock test_readpartial_locktmp test_sysread_with_not_empty_buffer].map do |test|
      Difference.new(suite: "ruby", test: "TestIO##{test}", ways: %w[time labels], rubies: "< 3.3", reason: SIGNALS)
    end,
    Difference.new(suite: "ruby", test: "TestSignal#test_exit_action", ways: %w[time labels], rubies: "< 3.3", reason: SIGNALS),
    *%w[TestRubyOptions#test_debug TestRubyOptions#test_frozen_string_literal_debug
        TestTempfile#test_tempfile_finalizer_does_not_run_if_unlinked].map do |test|
      Difference.new(suite: "ruby", test: test, reason: DEBUGGED)
    end,
    Difference.new(
      suite: "ruby", test: "TestRubyOptions#test_enable", ways: %w[time labels], rubies: "< 3.2",
      reason: "turns YJIT on, with which :wall cannot be measured before Ruby 3.3, as a line on stderr says"
    ),
    Difference.new(suite: "ruby", test: REDEFINING, reason: REDEFINED),
    Difference.new(
      suite: "ruby", test: "TestObjectSpace#test_each_object_no_garbage",
      reason: "looks at all arrays of the process; for any TracePoint of script_compiled, the VM makes some that hold its own objects"
    ),
    Difference.new(
      suite: "ruby", test: /\ATestAllocation::/, ways: %w[objects], rubies: ">= 3.4",
      reason: "counts all arrays of the process; the first ObjectSpace.count_objects under our hook makes one more, which is the VM's own"
    ),
    Difference.new(
      suite: "ruby", test: "TestIO#test_dup_many",
      reason: "leaves no descriptor at all, so the profile of that process cannot be written, which a line on stderr says"
    ),
    Difference.new(
      suite: "ruby", test: "TestDir#test_glob_too_may_open_files",
      reason: "leaves no descriptor at all, so the profile of that process cannot be written, which a line on stderr says"
    ),
    Difference.new(
      suite: "ruby", test: "TestProcess#test_daemon_no_threads",
      reason: "counts the native threads of a daemon, of which our collector is one"
    ),
    Difference.new(
      suite: "ruby", test: "Fiddle::TestFunction#test_nogvl_poll", ways: %w[time labels], rubies: "< 3.3",
      reason: "before Ruby 3.3 :wall interrupts those that wait, and poll(2), called without Ruby, returns EINTR and not 0"
    ),
    Difference.new(
      suite: "ruby", test: /\ATestJIT(?:Debug)?#test_cancel_by_tracepoint\z/, rubies: "< 3.2",
      reason: "demands that MJIT compiles no method of the process, and it compiles one of ours"
    ),
    Difference.new(
      suite: "ruby", test: "TestThread#test_main_thread_status_at_exit",
      reason: "has a thread that never comes to run before the process is gone; the profile is written in at_exit, and other threads run meanwhile"
    ),
    Difference.new(
      suite: "puma", test: "TestIntegrationPumactl#test_phased_restart_cluster",
      reason: "demands that a restart takes less than 6 s, which a busy machine misses without us too"
    )
  ].freeze

  # @return [String, nil]
  def self.reason(suite, test, way)
    DIFFERENCES.find { |difference| difference.of?(suite, test, way) }&.reason
  end
end
