# frozen_string_literal: true

module Profiler
  # Decides whether this platform is supported, before the extension is loaded.
  module Platform
    MINIMUM_RUBY = [3, 1].freeze
    # The modes of time that disturb nothing: before Ruby 3.3, +:wall+ ends system calls that wait.
    TIME_MODES = (RUBY_VERSION < "3.3" ? %i[cpu] : %i[cpu wall]).freeze

    # @return [String, nil] the reason why this process cannot be profiled
    def self.unsupported_reason
      return @unsupported_reason if defined?(@unsupported_reason)

      @unsupported_reason = find_reason
    end

    # @return [String, nil] the reason why this Ractor cannot profile
    def self.ractor_reason
      return if !defined?(Ractor) || Ractor.current.equal?(Ractor.main)

      "this is not the main Ractor, and sessions are the main Ractor's alone: they profile its threads and no others"
    end

    # @raise [Unsupported] in a Ractor other than the main one
    def self.demand_main_ractor
      reason = ractor_reason
      raise Unsupported, reason if reason
    end

    def self.find_reason
      if RUBY_ENGINE != "ruby"
        "#{RUBY_ENGINE} is not CRuby: its stacks cannot be read"
      elsif (RUBY_VERSION.split(".").map(&:to_i) <=> MINIMUM_RUBY).negative?
        "Ruby #{RUBY_VERSION} is too old: #{MINIMUM_RUBY.join(".")} or newer is needed"
      elsif !RUBY_PLATFORM.include?("linux")
        "#{RUBY_PLATFORM} has no timer on a thread's CPU clock: only Linux is supported so far"
      end
    end
    private_class_method :find_reason
  end
end
