# frozen_string_literal: true

require_relative "../in_libraries/sql"

module Profiler
  module InRails
    # Turns Active Support's notifications into markers: SQL without its values, templates, and caches without their keys. Does
    # no work if no session runs.
    module Markers
      class << self
        # Subscribes once in a process.
        def subscribe
          return if @subscribed

          @subscribed = true
          on("sql.active_record") { |payload| sql(payload) }
          %w[template partial collection layout].each do |what|
            on("render_#{what}.action_view") { |payload| "render #{what} #{place(payload[:identifier])}" }
          end
          on(/\Acache_\w+\.active_support\z/) { |payload, name| cache(payload, name) }
        end

        private

        def on(pattern)
          ActiveSupport::Notifications.monotonic_subscribe(pattern) do |name, started, _finished, _id, payload|
            if Session.any?
              text = readable(name) { yield(payload, name) }
              Native.mark(text, (started * 1_000_000_000).to_i.clamp(0, INSTANT)) if text # the app can have replaced its clock
            end
          end
        end

        # Rescues this module's own errors, and only these: a time-out that arrives meanwhile is raised afterwards.
        def readable(name, &block)
          Losses.own(Losses::OF_APPS, ->(error) { "#{name} (not read: #{error.class})" }, &block)
        end

        def sql(payload)
          return if payload[:name] == "SCHEMA"

          kind = payload[:cached] ? "SQL cached" : "SQL"
          connection = payload[:connection]
          dialect = InLibraries::Sql.dialect(connection.respond_to?(:adapter_name) ? connection.adapter_name : nil)
          "#{[kind, *payload[:name]].join(" ")}: #{InLibraries::Sql.without_values(payload[:sql].to_s, dialect: dialect)}"
        end

        def cache(payload, name)
          outcome = { true => " hit", false => " miss" }[payload[:hit]] if name.start_with?("cache_read.")
          "#{name.delete_suffix(".active_support").tr("_", " ")}#{outcome}"
        end

        def place(identifier)
          identifier.to_s.delete_prefix("#{::Rails.root}/")
        end
      end
    end
  end
end
