# frozen_string_literal: true

# test/runner.rb of Ruby's source, with the recorder in it. Runs in the top directory of that source.

require_relative "recorder"

ENV["GEM_SKIP"] = ENV["GEM_HOME"] = ENV["GEM_PATH"] = "" # as that one does
Warning[:experimental] = false

$LOAD_PATH.unshift File.expand_path("tool/lib")
require "test/unit"
%w[tracepointchecker zombie_hunter iseq_loader_checker gc_checker].each { |checker| require checker }

CompatibilityRecorder.into("own")
srand(0) # test_require_lib.rb defines tests by chance
exit Test::Unit::AutoRunner.run(true, File.expand_path("test"))
