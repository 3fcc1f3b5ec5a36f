# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# Runs this Ruby as a user who owns nothing. The checkout may lie below a private home directory, which that user cannot
# read, so the program gets a copy of the gem.
module OtherUser
  ID = "65534"

  # @param args [Array<String>] as for {Child#ruby_child}; +EXE+ in them stands for the command +profiler+ of the copy
  # @param limits [Array<String>] options of prlimit(1)
  # @return [Child::Result]
  def other_user_child(*args, limits: [], env: {}, **options)
    skip "only root can become another user" unless Process.uid.zero?
    skip "needs setpriv and prlimit, of util-linux" unless system("command -v setpriv prlimit > /dev/null")

    Dir.mktmpdir do |home|
      copy_gem(home)
      become = ["prlimit", *limits, "setpriv", "--reuid", ID, "--regid", ID, "--clear-groups"]
      readable = command_child(*become, RbConfig.ruby, "-I", "#{home}/lib", "-e", "require 'profiler/version'", chdir: home)
      skip "another user cannot run this Ruby, or cannot read #{home}: #{readable.err.lines.first}" unless readable.status.success?

      args = args.map { |arg| arg == "EXE" ? "#{home}/exe/profiler" : arg }
      command_child(*become, RbConfig.ruby, "-I", "#{home}/lib", *args, env: { "HOME" => home }.merge(env), chdir: home, **options)
    end
  end

  private

  def copy_gem(home)
    FileUtils.cp_r([Child::LIB, File.dirname(Child::EXE)], home)
    FileUtils.chmod_R("a+rX", home)
  end
end
