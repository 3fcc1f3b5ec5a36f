# frozen_string_literal: true

# What others wrote tests us: the same tests pass with us in their processes. spec/compatibility/run.rb does it; what
# differs for a reason is listed in spec/compatibility/differences.rb.

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
  desc "Run Ruby's own tests plain and with us (MATRIX=3.1,3.3,3.4 WAYS=plain,time,objects,labels FILES='ruby/test_a*.rb' JOBS=2; hours)"
  task(:ruby_tests) { compatibility(%w[ruby], RUBIES.keys.join(",")) }

  desc "Run the suites of Rack, Puma and others plain and with us (SUITES=rack,puma, and as check:ruby_tests)"
  task(:suites) { compatibility(ENV.fetch("SUITES", "rack,puma,concurrent-ruby,nokogiri,msgpack").split(","), RUBY_VERSION[/\A\d+\.\d+/]) }
end
