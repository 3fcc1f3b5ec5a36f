# frozen_string_literal: true

require "fileutils"

# The command +profiler+ loads its own copy of the gem, and an app may have another one in its bundle.
RSpec.describe "Two copies of the gem in a process" do
  include_context "with a box"

  it "are one: that which was loaded first" do
    FileUtils.cp_r(Child::LIB, in_box("lib"))
    code = <<~'RUBY'
      $VERBOSE = true
      $LOAD_PATH.unshift(ARGV.first)
      require "minitest"
      require "profiler/minitest"
      require "profiler/rspec"
      require "#{ARGV.first}/profiler"
      app = Profiler::Middleware.new(->(_env) { [200, {}, []] }, slower_than: 1)
      p app.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/").first
      p Profiler.allocations_of { Object.new }.objects
      puts $LOADED_FEATURES.grep(/\A#{Regexp.escape(ARGV.first)}.*(?<!minitest|rspec)\.rb/)
    RUBY
    result = ruby_child("-rprofiler/autoload", "-e", code, in_box("lib"), env: { "PROFILER_OUT" => in_box("it.pb.gz"), "PROFILER_QUIET" => "1" })
    expect(result).to have_attributes(out: "200\n1\n#{in_box("lib/profiler.rb")}\n", err: "", status: be_success)
  end
end
