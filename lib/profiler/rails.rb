# frozen_string_literal: true

# If another copy of the gem is already loaded, loads the file of that copy.
if defined?(Profiler::HOME) && Profiler::HOME != File.expand_path("..", __dir__)
  require "#{Profiler::HOME}/profiler/rails"
  return
end

require_relative "../profiler"
require_relative "in_rails"
require "rails/railtie"

module Profiler
  # Integrates with Rails: +gem "profiler", require: "profiler/rails"+. Configures Rails by <tt>config.profiler</tt>: the options of {Middleware}, and
  #
  # +enabled+:: false disables everything
  # +markers+:: false disables the markers for SQL, templates and caches
  #
  # +permit+ is called at the end of the stack, where the session and Warden's user are known; a requested profile begins there.
  #
  #   config.profiler.slower_than = 0.5
  #   config.profiler.permit = ->(env) { env["warden"]&.user&.admin? }
  class Railtie < ::Rails::Railtie
    OURS = %i[enabled markers].freeze
    private_constant :OURS

    config.profiler = ActiveSupport::OrderedOptions.new

    initializer "profiler.labels" do |app|
      # Classes of jobs call `profiled` in any case.
      InRails::Jobs.enabled = app.config.profiler.enabled != false
      InRails.label
    end

    initializer "profiler.markers" do |app|
      next if app.config.profiler.enabled == false || app.config.profiler.markers == false

      InRails::Markers.subscribe
    end

    # Runs late, so that config/initializers may set options. Middlewares of other gems, such as Devise's Warden, are then
    # further out than our second one.
    initializer "profiler.middleware", after: :load_config_initializers, before: :build_middleware_stack do |app|
      options = app.config.profiler.to_h
      next if options[:enabled] == false

      settings = { out: ::Rails.root.join("tmp", "profiler"), permit_inside: !options[:permit].nil? }.merge(options.except(*OURS))
      app.middleware.insert_before(0, Middleware, **settings)
      app.middleware.use(Middleware::OnDemand) if settings[:permit_inside]
    end
  end
end
