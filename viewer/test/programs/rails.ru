# frozen_string_literal: true

require_relative "../../../spec/integrations/rails/apps/shop"
run Rails.application
