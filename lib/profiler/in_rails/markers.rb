# frozen_string_literal: true

require_relative "sql"

module Profiler
  module InRails
    # What Active Support tells of becomes markers of the sessions that run: SQL, without the values in it; templates; caches,
    # without their keys. Where no session runs, nothing is done.
    module Markers
      class << self
        # Once for each process.
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
              text = yield(payload, name)
              Session.send(:_mark, text, (started * 1_000_000_000).to_i) if text
            end
          end
        end

        def sql(payload)
          return if payload[:name] == "SCHEMA"

          kind = payload[:cached] ? "SQL cached" : "SQL"
          # Where it is not known whose SQL it is, what could be a value counts as one.
          adapter = payload[:connection].respond_to?(:adapter_name) ? payload[:connection].adapter_name : "mysql"
          text = Sql.without_values(payload[:sql].to_s, mysql: adapter.match?(/mysql|trilogy/i))
          "#{kind} #{payload[:name]}: #{text}"
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
