# frozen_string_literal: true

require "fileutils"
require "socket"

# A process may change its root directory, or outlive the files of the gem, as after an upgrade. It can load nothing from then on.
RSpec.describe "A profiled process that lost the files of the gem" do
  include_context "with a box"

  let(:environment) { { "PROFILER_CONTROL" => in_box("control"), "BOX" => box } }

  # A copy of the gem, which the program deletes.
  before { FileUtils.cp_r(Child::LIB, in_box("lib")) }

  program = File.expand_path("../programs/output/lost_files.rb", __dir__)

  def child_of_copy(*arguments)
    command_child(RbConfig.ruby, "-I", in_box("lib"), *arguments, env: environment.merge("PROFILER_OUT" => in_box("it.pb.gz"), "PROFILER_SIGNAL" => "USR2"))
  end

  it "forks, execs, serves and ends as if nothing were" do
    result = child_of_copy("-rprofiler/autoload", program, "files")
    expect(result).to have_attributes(out: "0\n0\n0\n7\nErrno::ENOENT\n200\n 200\n", status: be_success)
    expect(result.err).not_to match(/cannot load such file|LoadError|uninitialized/)
  end

  it "writes its recording, at a signal and at its end" do
    result = command_child(RbConfig.ruby, "-I", in_box("lib"), "-rprofiler/autoload", "-e", <<~'RUBY', env: { "BOX" => box, "PROFILER_OUT" => in_box("it.pb.gz"), "PROFILER_SIGNAL" => "USR2" })
      require "fileutils"
      FileUtils.rm_rf(File.join(ENV.fetch("BOX"), "lib"))
      Process.kill(:USR2, $$)
      sleep 0.01 until File.exist?(ENV.fetch("PROFILER_OUT"))
      sleep 0.3
      Process.kill(:USR2, $$)
      sleep 0.3
      Process.wait(fork { 1_000.times { |i| i.to_s } })
      exec("/no/such/program") rescue nil
      500_000.times { |i| i.to_s }
    RUBY
    expect(result.status).to be_success
    expect(result.err).not_to match(/cannot load such file|LoadError|uninitialized/)
    expect(files).to include("it.pb.gz")
  end

  it "does so with another root directory" do
    skip "only root can change it" unless Process.uid.zero?
    result = child_of_copy("-rprofiler/autoload", program, "root")
    expect(result).to have_attributes(out: "0\n0\n0\n7\nErrno::ENOENT\n200\n 200\n", status: be_success)
    expect(result.err).not_to match(/cannot load such file|LoadError|uninitialized/)
  end

  it "says what failed in a fork, an exec or an end, and goes on" do
    result = ruby_child("-e", <<~'RUBY')
      require "profiler"
      $stdout.sync = true
      listener = Object.new
      def listener.forked(_same) = require("no/such/file")
      def listener.around_exec = raise(NotImplementedError, "not here")
      def listener.process_ends(_error) = raise("ended")
      Profiler.const_get(:Ends).listen(listener)
      Process.wait(fork { puts "in the child"; $stdout.flush })
      begin
        exec("/no/such/program")
      rescue SystemCallError
        puts $!.class
      end
      exec(RbConfig.ruby, "-e", "puts 'another'") if ARGV.empty?
    RUBY
    expect(result).to have_attributes(out: "in the child\nErrno::ENOENT\nanother\n", status: be_success)
    expect(result.err).to include("[profiler] the profiler failed as the process ended, forked or called exec: LoadError: cannot load such file")
    expect(result.err).to include("NotImplementedError: not here").and include("ended")
  end
end
