# frozen_string_literal: true

# cargo test says "ok" when a filter matches no test or a file is compiled to nothing. That is no success.
def cargo_test(env, *command)
  ran = 0
  puts command.join(" ")
  IO.popen(env, command, chdir: ROOT) do |output|
    output.each_line do |line|
      puts line
      ran += line[/\Atest result: .* (\d+) passed/, 1].to_i
    end
  end
  abort "#{command.join(" ")} failed" unless $?.success?
  abort "#{command.join(" ")} ran no test" if ran.zero?
end

namespace :test do
  desc "Run the tests of profiler_core, which need no Ruby (TEST=part of a name)"
  task :rust do
    cargo_test({}, "cargo", "test", "--locked", "--package", "profiler_core", *ENV["TEST"])
  end
end
