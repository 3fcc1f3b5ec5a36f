# frozen_string_literal: true

# Any Ruby, also one that somebody has built: RUBY=/opt/ruby/bin/ruby rake check:ruby. It needs no gems of its own. Those of this system's
# directories are found by GEM_PATH; examples for which a gem is missing are skipped, and counted.

SYSTEM_GEMS = "/usr/share/rubygems-integration/all" # where Debian has gems that are for each Ruby

# The environment and the beginning of a command that runs that Ruby.
def other_ruby(path)
  ruby = File.executable?(path) ? File.realpath(path) : abort("check:ruby: RUBY=#{path} is not a program")
  version, gems = IO.popen([ruby, "-e", "puts RUBY_DESCRIPTION, Gem.path.join(File::PATH_SEPARATOR)"], &:read).to_s.lines(chomp: true)
  abort "check:ruby: RUBY=#{path} does not run" unless $?.success?
  puts version
  path = [File.dirname(ruby), ENV.fetch("PATH")].join(File::PATH_SEPARATOR) # for the Rubies that specs start
  [{ "PATH" => path, "GEM_PATH" => [gems, *(SYSTEM_GEMS if File.directory?(SYSTEM_GEMS))].join(File::PATH_SEPARATOR), "RUBYOPT" => nil, "RUBYLIB" => nil }, ruby]
end

# The JITs that this Ruby has, and the variables that enable each.
def jits_of(ruby)
  jits = %w[YJIT ZJIT].to_h { |jit| [jit, { "RUBY_#{jit}_ENABLE" => "1" }] }
  jits.select { |jit, env| system(env, ruby, "-e", "exit RubyVM.const_get(ARGV[0]).enabled?", jit, %i[out err] => File::NULL) }
end

namespace :check do
  desc "Check RUBY=/path/to/ruby (this one): compile, self-check, specs, the names and laws with each JIT, STRESS_MINUTES (2) of stress"
  task :ruby do
    env, ruby = other_ruby(ENV.fetch("RUBY", RUBY))
    rake = [ruby, "-S", "rake"]
    sh env, *rake, "compile", verbose: false
    sh env, ruby, "-I#{ROOT}/lib", "-rprofiler", "-e", "abort Profiler.const_get(:SelfCheck).examine if Profiler.const_get(:SelfCheck).examine", verbose: false
    runs = { "specs" => [env, *rake, "spec"] }
    jits_of(ruby).each { |jit, enabled| runs["#{jit} specs"] = [env.merge(enabled), ruby, "-S", "rspec", "spec/names", "spec/laws"] }
    runs["stress"] = [env, *rake, "stress:here[#{ENV.fetch("STRESS_MINUTES", "2")}]"]
    in_turn(runs)
  end
end
