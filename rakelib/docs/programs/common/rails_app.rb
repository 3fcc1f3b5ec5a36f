# frozen_string_literal: true

# An app of Rails, and its classes.

require "logger"
require "rails"
require "active_job"
require "profiler/rails"

class Shop < Rails::Application
  config.eager_load = false
  config.logger = Logger.new(File::NULL)
end

def config = Shop.config

class ApplicationJob < ActiveJob::Base
  include Profiler::InRails::Jobs
end

# After the block: it boots.
at_exit { Shop.initialize! unless $! }
