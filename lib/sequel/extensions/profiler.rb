# frozen_string_literal: true

# Records the statements of a Sequel database as markers: +DB.extension(:profiler)+, or <tt>Sequel::Database.extension(:profiler)</tt> for
# all that are connected later.
require "profiler"
require "#{Profiler::HOME}/profiler/in_sequel"

Sequel::Database.register_extension(:profiler, Profiler::InSequel)
