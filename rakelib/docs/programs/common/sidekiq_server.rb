# frozen_string_literal: true

# A server of Sidekiq, with a job after the block.

require "sidekiq/cli"

at_exit do
  unless $!
    config = Sidekiq.respond_to?(:default_configuration) ? Sidekiq.default_configuration : Sidekiq # from version 7 on
    chain = config.server_middleware
    raise "no middleware of Sidekiq" if chain.entries.empty?

    chain.invoke(nil, { "class" => "ImportJob", "jid" => "1", "queue" => "default" }, "default") { work }
  end
end
