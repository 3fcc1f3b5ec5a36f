# frozen_string_literal: true

require_relative "../in_sequel"
require_relative "wrapping"

module Profiler
  module InLibraries
    # Records the statements of all databases of Sequel as markers, as its extension +profiler+ does for one.
    module Sequel
      class << self
        def hook(database) = Wrapping.wrap(database, :log_connection_yield, self)

        # If the database has the extension, that records it.
        def log_connection_yield(database, sql, *)
          InSequel === database ? yield : InSequel.mark(sql, database) { yield }
        end
      end
    end
  end
end
