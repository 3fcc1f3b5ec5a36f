# frozen_string_literal: true

require_relative "../profiler"
require "rails/railtie"

module Profiler
  # What a Rails app gets: +gem "profiler", require: "profiler/rails"+.
  module InRails
    autoload :Actions, "#{__dir__}/in_rails/actions"
    autoload :Jobs, "#{__dir__}/in_rails/jobs"
    autoload :Markers, "#{__dir__}/in_rails/markers"
  end

  # <tt>config.profiler</tt>: the options of {Middleware}, and
  #
  # +enabled+:: false leaves everything out
  # +markers+:: false leaves out what Active Support tells of SQL, templates and caches
  #
  # +permit+ is asked where the session and Warden's user are known, at the end of the stack; a profile that is asked for begins there.
  #
  #   config.profiler.slower_than = 0.5
  #   config.profiler.permit = ->(env) { env["warden"]&.user&.admin? }
  class Railtie < ::Rails::Railtie
    OURS = %i[enabled markers].freeze
    private_constant :OURS

    config.profiler = ActiveSupport::OrderedOptions.new

    initializer "profiler.labels" do |app|
      # Classes of jobs say `profiled` in any case.
      InRails::Jobs.enabled = app.config.profiler.enabled != false
      ActiveSupport.on_load(:active_job) { include InRails::Jobs }
      ActiveSupport.on_load(:action_controller) { prepend InRails::Actions } if InRails::Jobs.enabled
    end

    initializer "profiler.markers" do |app|
      next if app.config.profiler.enabled == false || app.config.profiler.markers == false

      InRails::Markers.subscribe
    end

    # Late, so that config/initializers may set options, and that what they and other gems put into the stack, as Devise does
    # Warden, stands further out than our second place.
    initializer "profiler.middleware", after: :load_config_initializers, before: :build_middleware_stack do |app|
      options = app.config.profiler.to_h
      next if options[:enabled] == false

      given = { out: ::Rails.root.join("tmp", "profiler"), permit_inside: !options[:permit].nil? }.merge(options.except(*OURS))
      app.middleware.insert_before(0, Middleware, **given)
      app.middleware.use(Middleware::OnDemand) if given[:permit_inside]
    end
  end
end
