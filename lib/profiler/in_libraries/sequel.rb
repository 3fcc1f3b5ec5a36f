# frozen_string_literal: true

require_relative "../in_sequel"

module Profiler
  module InLibraries
    # Records the statements of all databases of Sequel as markers, as its extension +profiler+ does for one.
    module Sequel
      def self.hook(database)
        database.prepend(self)
      end

      # If the database has the extension, that records it.
      def log_connection_yield(sql, connection, arguments = nil)
        InSequel === self ? super : InSequel.mark(sql, self) { super }
      end
    end
  end
end
