# frozen_string_literal: true

module Profiler
  # Hooks into libraries to label their work while a session runs: tasks of Rake, examples of RSpec and Minitest, jobs of Sidekiq, and
  # requests to Rails, Sinatra, Grape and Hanami; the statements of Sequel become markers. What an app configures itself is in rails and sidekiq.
  #
  # Each library is hooked once per process, through one of its public methods or hooks. If a library does not have the expected
  # interface, it is not hooked, and one line on stderr says so.
  #
  # @api private
  module InLibraries
    # The constants that exist once a library is loaded, and the modules with the hooks.
    APPS = { "Rake::Task" => :Rake, "Rails::Application" => :Rails, "Sinatra::Base" => :Sinatra, "Grape::Endpoint" => :Grape, "Hanami::Action" => :Hanami,
             "Sequel::Database" => :Sequel, "Sidekiq::Middleware::Chain" => :Sidekiq }.transform_keys { |path| path.split("::").map(&:to_sym) }.freeze
    TESTS = { %i[RSpec Core Configuration] => :RSpec, %i[Minitest Test] => :Minitest }.freeze
    private_constant :APPS, :TESTS

    %i[Grape Hanami Routed Sinatra].each { |name| autoload name, "#{__dir__}/in_libraries/requests" }
    %i[Minitest RSpec].each { |name| autoload name, "#{__dir__}/in_libraries/tests" }
    %i[Rails Rake Sequel Sidekiq].each { |name| autoload name, "#{__dir__}/in_libraries/#{name.downcase}" }

    # Returned by a hook if its library is only partly loaded.
    LATER = :later
    # The errors that a hook may raise if a library has an unexpected interface.
    TROUBLE = { StandardError => :never, LoadError => :never }.freeze
    private_constant :TROUBLE

    @hooked = {}
    # How many files were loaded when it last looked for libraries, with test frameworks and without.
    @looked_at = {}

    class << self
      # Hooks into the libraries that are loaded. Does nothing, and allocates no object, if no file was loaded since the last time.
      #
      # @param tests [Boolean] whether to hook into test frameworks as well
      def install(tests: true)
        files = $LOADED_FEATURES.size
        return if @looked_at[tests] == files

        @looked_at[tests] = files
        APPS.each { |path, name| hook(path, name) }
        TESTS.each { |path, name| hook(path, name) } if tests
        nil
      end

      # Hooks also into libraries that are loaded later, for a session that starts before the program. Looks for new ones whenever
      # code is compiled after a file was loaded. Compiling is rare, and unlike the events of classes, this event does not slow
      # down running code.
      def watch
        install
        @watch ||= TracePoint.new(:script_compiled) { look_again }
        @watch.enable
      end

      # Runs a step of a hook. If the library does not have the expected interface, it is left alone.
      #
      # @param name [Symbol] of the library
      def guarded(name, &block)
        Losses.own(TROUBLE, ->(error) { Losses.warn("could not hook into #{name}, so its work has no labels: #{error.class}: #{Losses.reason(error)}") }, &block)
      end

      private

      # Looks for libraries that were loaded since. Evaluated code is compiled too, but that loads no file.
      def look_again
        install
        @watch.disable if @hooked.count { |_, done| done } == APPS.size + TESTS.size
      end

      def hook(path, name)
        return if @hooked[name]

        owner = loaded(path) or return
        @hooked[name] = true
        guarded(name) do
          @hooked[name] = const_get(name).hook(owner) != LATER
          @looked_at.clear unless @hooked[name]
        rescue ThreadError
          @hooked[name] = false # a trap cannot load files: the next session tries again
          @looked_at.clear
        end
      end

      # Allocates no object, as it runs while the program loads.
      #
      # @param path [Array<Symbol>]
      # @return [Module, nil] nil if it is not loaded, or would be autoloaded
      def loaded(path)
        owner = Object
        path.each do |name|
          return if !owner.is_a?(Module) || owner.autoload?(name, false) || !owner.const_defined?(name, false)

          owner = owner.const_get(name, false)
        end
        owner
      end
    end
  end
end
