# frozen_string_literal: true

# Test suites of other projects must pass in the same way with the profiler in their processes. spec/compatibility/run.rb
# runs them; spec/compatibility/differences.rb lists the differences that have a reason.

# The same files in the same ways on each of MATRIX, one Ruby after the other.
def compatibility(names, matrix)
  options = { "--ways" => ENV["WAYS"], "--files" => ENV["FILES"], "--jobs" => ENV["JOBS"] }.compact.flatten
  picked = ENV.fetch("MATRIX", matrix).split(/[\s,]+/)
  unknown = picked - RUBIES.keys
  abort "no Ruby #{unknown.join(", ")}; there are #{RUBIES.keys.join(", ")}" if unknown.any? || picked.empty?

  in_turn(picked.to_h do |version|
    command = in_slot("compatibility", RUBIES[version])
    system(*command, "-S", "rake", "compile", chdir: ROOT) || abort("Ruby #{version}: the extension does not compile")
    ["Ruby #{version}", [*command, "spec/compatibility/run.rb", *names, *options]]
  end)
end

namespace :check do
  desc "Run Ruby's own tests with and without the profiler (MATRIX=3.1,3.3,3.4 WAYS=plain,time,objects,native,labels FILES='ruby/test_a*.rb' JOBS=2; hours)"
  task(:ruby_tests) { compatibility(%w[ruby], RUBIES.keys.join(",")) }

  desc "Run the suites of Rack, Puma and others with and without the profiler (SUITES=rack,puma, and as check:ruby_tests)"
  task(:suites) { compatibility(ENV.fetch("SUITES", "rack,puma,concurrent-ruby,nokogiri,msgpack").split(","), RUBY_VERSION[/\A\d+\.\d+/]) }
end
