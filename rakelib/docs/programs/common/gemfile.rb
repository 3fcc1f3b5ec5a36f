# frozen_string_literal: true

# A line of a Gemfile: Bundler reads it, and what it requires is loaded.

require "bundler"
require "rails"

File.write("Gemfile", "")

def gem(name, **options)
  Bundler::Dsl.new.gem(name, **options)
  require options.fetch(:require, name)
end
