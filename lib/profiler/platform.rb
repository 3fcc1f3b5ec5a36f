# frozen_string_literal: true

module Profiler
  # Decides whether this platform is supported, before the extension is built and before it is loaded.
  module Platform
    # True on macOS, where the profiler is an experiment: it was compiled for it, and never run there by its authors.
    MACOS = RUBY_PLATFORM.include?("darwin")
    # Older Rubies do not report all that a session needs, and only Linux has the means to find it out.
    MINIMUM_RUBY = (MACOS ? [3, 3] : [3, 1]).freeze
    RUBY = RUBY_VERSION[/\A\d+\.\d+/]
    HOW_TO_BUILD = "the source gem builds one where it is installed"
    # The time modes that are harmless: before Ruby 3.3, +:wall+ ends system calls that wait.
    TIME_MODES = (RUBY_VERSION < "3.3" ? %i[cpu] : %i[cpu wall]).freeze

    # @return [String, nil] the reason why this process cannot be profiled
    def self.unsupported_reason
      return @unsupported_reason if defined?(@unsupported_reason)

      @unsupported_reason = find_reason
    end

    # @return [String, nil] the reason why this Ractor cannot profile
    def self.ractor_reason
      return if !defined?(Ractor) || Ractor.current.equal?(Ractor.main)

      "this is not the main Ractor: sessions can only be used there, and profile only its threads"
    end

    # @raise [Unsupported] in a Ractor other than the main one
    def self.require_main_ractor
      reason = ractor_reason
      raise Unsupported, reason if reason
    end

    # Loads the extension. A gem that was built here has only one; the gem of a platform has one for each Ruby.
    #
    # @raise [LoadError] if it does not fit this system
    def self.load_extension
      # With its suffix: without one, Ruby would first search every directory for a Ruby file.
      require extension_for(RUBY) || "profiler/profiler.so"
    rescue LoadError => e
      raise if rubies.empty?

      raise LoadError, "the extension of this gem does not fit this system (#{e.message.lines.first&.chomp}): #{HOW_TO_BUILD}"
    end

    # Returns the path of this gem's extension for a Ruby. nil if there is none, or if Ruby itself finds one that was built here and is
    # not beside this file.
    #
    # @param ruby [String] such as 3.4
    # @return [String, nil]
    def self.extension_for(ruby)
      directory = rubies.empty? ? ("." if ruby == RUBY) : ruby
      file = File.expand_path("#{directory}/profiler.so", __dir__) if directory
      file if file && File.file?(file)
    end

    def self.find_reason
      if RUBY_ENGINE != "ruby"
        "#{RUBY_ENGINE} is not CRuby: its stacks cannot be read"
      elsif (RUBY_VERSION.split(".").map(&:to_i) <=> MINIMUM_RUBY).negative?
        "Ruby #{RUBY_VERSION} is too old: #{MINIMUM_RUBY.join(".")} or newer is needed#{" on macOS" if MACOS}"
      elsif !MACOS && !RUBY_PLATFORM.include?("linux")
        "#{RUBY_PLATFORM} is not supported: only Linux is, and macOS as an experiment"
      elsif RUBY_PLATFORM.include?("musl")
        "#{RUBY_PLATFORM} has a C library that was not tested: only glibc is supported so far"
      elsif 1.size < 8
        "#{RUBY_PLATFORM} is a 32-bit system: only 64-bit systems are supported"
      elsif rubies.any? && !rubies.include?(RUBY)
        "this gem has an extension for Ruby #{rubies.join(", ")}, and none for #{RUBY}: #{HOW_TO_BUILD}"
      elsif (collector = other_collector)
        "the garbage collector #{collector} does not report when it runs, and stacks must not be read while it does: only Ruby's default collector is supported"
      end
    end
    private_class_method :find_reason

    # Returns the Rubies for which the gem of a platform has an extension; none in a gem that was built here.
    def self.rubies
      @rubies ||= Dir.glob("[0-9]*.[0-9]*", base: __dir__).sort
    end
    private_class_method :rubies

    # Returns the name of a garbage collector that replaces Ruby's own (+RUBY_GC_LIBRARY+), or nil.
    def self.other_collector
      name = GC.config[:implementation] if GC.respond_to?(:config)
      name unless name.nil? || name == "default"
    end
    private_class_method :other_collector
  end
end
