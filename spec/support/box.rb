# frozen_string_literal: true

require "json"
require "tmpdir"

# For specs about files: each example has a directory of its own, with a blank in its name, since that is
# where command lines break.
RSpec.shared_context "with a box" do
  attr_reader :box

  around do |example|
    Dir.mktmpdir("a box ") do |directory|
      @box = File.realpath(directory)
      example.run
    end
  end

  # Works for +milliseconds+ of CPU time in a method called +burn+.
  let(:burn) { <<~RUBY.tr("\n", ";") }
    def burn(milliseconds)
      till = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + milliseconds / 1000.0
      100.times { |number| number.to_s } while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till
    end
  RUBY

  # The names of the files in the box, sorted.
  def files
    Dir.children(box).sort
  end

  def in_box(name)
    File.join(box, name)
  end

  # Writes a script into the box.
  #
  # @return [String] its path
  def script(source, name: "app.rb")
    in_box(name).tap { |path| File.write(path, source) }
  end

  # The output of +profiler report --json+ for a file in the box.
  def report(name)
    result = profiler_child("report", in_box(name), "--json", "--limit", "0")
    raise "#{name}: #{result.err}" unless result.code.zero?

    JSON.parse(result.out, symbolize_names: true)
  end

  def functions(name)
    report(name)[:top].map { |row| row[:name] }
  end
end
