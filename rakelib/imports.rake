# frozen_string_literal: true

require_relative "../spec/support/import_graph"

# The rooms of the core, from the top: a room may import from those after it. The last are files of their own.
CORE_ROOMS = %w[format analysis pipeline session profile sampling record error text ids rng claim sync].freeze

# The faults of a crate. What the extension may import is not fixed yet.
def import_faults(crate, graph)
  crate == "profiler_core" ? graph.circles + graph.upwards(CORE_ROOMS) : graph.circles
end

desc "Print the imports between the modules of each crate, in layers (CRATE=profiler_core)"
task :imports do
  ENV.fetch("CRATE", "profiler_core,profiler").split(",").each do |crate|
    graph = ImportGraph.new("#{ROOT}/ext/#{crate}/src")
    puts crate, graph, import_faults(crate, graph), ""
  end
end

namespace :lint do
  desc "Do the imports of profiler_core go down, and in no circle?"
  task :imports do
    graph = ImportGraph.new("#{ROOT}/ext/profiler_core/src")
    faults = import_faults("profiler_core", graph)
    abort "lint: imports of profiler_core (rake imports prints all)\n#{faults.join("\n")}" if faults.any?
    puts "imports: #{graph.modules.size} modules of profiler_core, none imports upwards or in a circle"
  end
end
