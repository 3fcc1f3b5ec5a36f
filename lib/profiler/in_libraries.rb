# frozen_string_literal: true

module Profiler
  # Labels the work of libraries that are loaded, while a session runs: tasks of Rake, examples of RSpec and Minitest, and requests to
  # Sinatra, Grape and Hanami. Rails, Active Job and Sidekiq have files of their own.
  #
  # Each library is hooked once in a process, by a public method or hook of its own. A library that has another interface than the
  # expected one stays as it is, and one line says so.
  #
  # @api private
  module InLibraries
    # The constant that shows that a library is loaded, and the module with the hook.
    APPS = { "Rake::Task" => :Rake, "Sinatra::Base" => :Sinatra, "Grape::Endpoint" => :Grape, "Hanami::Action" => :Hanami }.freeze
    TESTS = { "RSpec::Core::Configuration" => :RSpec, "Minitest::Test" => :Minitest }.freeze
    private_constant :APPS, :TESTS

    APPS.merge(TESTS).each_value { |name| autoload name, "#{__dir__}/in_libraries/#{name.to_s.downcase}" }

    # The value of a hook for which a library is not loaded far enough.
    LATER = :later
    # How a library can disappoint us.
    TROUBLE = { StandardError => :never, LoadError => :never }.freeze
    private_constant :TROUBLE

    @hooked = {}

    class << self
      # Hooks the libraries that are loaded.
      #
      # @param tests [Boolean] those that run tests as well
      def install(tests: true)
        APPS.each { |path, name| hook(path, name) }
        TESTS.each { |path, name| hook(path, name) } if tests
        nil
      end

      # Hooks the libraries that are loaded later as well, for a session that began before the program. A file that is compiled after
      # another one was loaded is the sign that there can be a new library. Compiling is rare, and the event adds nothing to running code,
      # unlike the events of classes.
      def watch
        install
        @features = $LOADED_FEATURES.size
        @watch ||= TracePoint.new(:script_compiled) { look_again }
        @watch.enable
      end

      private

      # Code that is evaluated is compiled, too, and loads no file: then this allocates no object.
      def look_again
        features = $LOADED_FEATURES.size
        return if features == @features

        @features = features
        install
        @watch.disable if @hooked.count { |_, done| done } == APPS.size + TESTS.size
      end

      def hook(path, name)
        return if @hooked[name]

        owner = loaded(path) or return
        @hooked[name] = true
        Losses.own(TROUBLE, ->(error) { Losses.say("work of #{name} has no labels: #{error.class}: #{Losses.reason(error)}") }) do
          @hooked[name] = const_get(name).hook(owner) != LATER
        rescue ThreadError
          @hooked[name] = false # a trap cannot load files: the next session tries again
        end
      end

      # @return [Module, nil] nil also for what would have to be loaded first
      def loaded(path)
        path.split("::").inject(Object) do |owner, name|
          return if !owner.is_a?(Module) || owner.autoload?(name, false) || !owner.const_defined?(name, false)

          owner.const_get(name, false)
        end
      end
    end
  end
end
