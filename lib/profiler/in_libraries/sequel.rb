# frozen_string_literal: true

require_relative "../in_sequel"

module Profiler
  module InLibraries
    # Records the statements of all databases of Sequel as markers, as its extension +profiler+ does for one.
    module Sequel
      def self.hook(database)
        database.prepend(InSequel)
      end
    end
  end
end
