# frozen_string_literal: true

require_relative "in_libraries/sql"

module Profiler
  # Records each statement of a Sequel database as a marker, +SQL+ with the statement without its values, as {InRails::Markers} does
  # for Active Record. It does nothing where no session runs.
  #
  # It overrides the method that Sequel's own extensions for logs override, which surrounds every statement.
  module InSequel
    def log_connection_yield(sql, connection, arguments = nil)
      InSequel.mark(sql, self) { super }
    end

    # Runs a statement, and records it as a marker if a session runs.
    #
    # @param sql [String, Symbol]
    # @param database [Sequel::Database]
    # @return [Object] what the block returned
    # @api private
    def self.mark(sql, database)
      return yield unless defined?(Session) && Session.any?

      started_ns = Clock.now_ns
      begin
        yield
      ensure
        Native.mark(name_of(sql, database), started_ns)
      end
    end

    # @param sql [String, Symbol]
    # @param database [Sequel::Database]
    # @return [String] the name of the marker
    # @api private
    def self.name_of(sql, database)
      Losses.own(Losses::OF_APPS, ->(error) { "SQL (not read: #{error.class})" }) do
        "SQL: #{InLibraries::Sql.without_values(sql.to_s, dialect: InLibraries::Sql.dialect(database.database_type))}"
      end
    end
  end
end
