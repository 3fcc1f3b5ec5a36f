# frozen_string_literal: true

require_relative "../spec/support/import_graph"

# The folders of each crate, from the top: a folder may import from those after it. The last of the core are files of their own.
FOLDERS = {
  "profiler_core" => %w[upload format store analysis control attach pipeline result tables session ticking trace profile memory sampling record error text ids rng claim sync],
  "profiler" => %w[boot api control attach memory sampler options labels trace capture engine naming threads before_3_3 shared errors vm sys]
}.freeze

def import_faults(crate, graph)
  graph.circles + graph.upwards(FOLDERS.fetch(crate))
end

desc "Print the imports between the modules of each crate, in layers (CRATE=profiler_core)"
task :imports do
  ENV.fetch("CRATE", "profiler_core,profiler").split(",").each do |crate|
    graph = ImportGraph.new("#{ROOT}/ext/#{crate}/src")
    puts crate, graph, import_faults(crate, graph), ""
  end
end

namespace :lint do
  desc "Check that the imports of both crates go down, without cycles"
  task :imports do
    FOLDERS.each_key do |crate|
      graph = ImportGraph.new("#{ROOT}/ext/#{crate}/src")
      faults = import_faults(crate, graph)
      abort "lint: imports of #{crate} (rake imports prints all)\n#{faults.join("\n")}" if faults.any?
      puts "imports: #{graph.modules.size} modules of #{crate}, none imports upwards or in a circle"
    end
  end
end
