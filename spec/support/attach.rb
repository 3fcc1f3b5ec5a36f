# frozen_string_literal: true

require "tmpdir"

# Ruby processes that load nothing of the profiler.
RSpec.shared_context "with a process that nobody prepared" do
  include_context "with a box"

  # A file that a program waits for, or writes; in its environment, GO.
  let(:go) { File.join(box, "go") }

  before { skip "only x86-64 Linux" unless RUBY_PLATFORM.match?(/x86_64.*linux/) }

  # Runs a program until the block ends, and then kills it.
  #
  # @param code [String]
  # @param status [Object] how it has to end: by our signal
  # @yield [Integer] the pid
  def plain(code, env: {}, status: "KILL")
    reader, writer = IO.pipe
    err = File.join(box, "err-#{Random.urandom(4).unpack1("H*")}")
    pid = spawn(Child::CLEAN.merge("PROFILER_CONTROL" => nil, "GO" => go).merge(env), RbConfig.ruby, "-e", code, in: reader, out: File::NULL, err: err)
    reader.close
    yield pid
    expect(Process.wait2(pid, Process::WNOHANG)).to be_nil, -> { "it has ended: #{File.read(err)}" } if status
  ensure
    writer.close
    begin
      Process.kill(:KILL, pid)
      Process.wait(pid)
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end
    remove_socket(pid)
  end

  # Runs spec/programs/attach/target.rb, and ends it after the block: it fails if it saw anything wrong.
  #
  # @yield [Integer] the pid
  def target(*kinds)
    program = IO.popen([Child::CLEAN.merge("PROFILER_CONTROL" => nil), RbConfig.ruby, "spec/programs/attach/target.rb", *kinds, chdir: Child::ROOT, err: %i[child out]], "r+")
    pid = program.pid
    expect(program.gets).to eq("ready\n")
    yield pid
    program.close_write
    out = program.read
    program.close
    expect($?).to be_success, out
  ensure
    unless program.closed?
      Process.kill(:KILL, pid)
      program.close
    end
    remove_socket(pid)
  end

  # The default directory, as the process has no other.
  def socket_of(pid) = "/tmp/profiler-#{Process.euid}/#{pid}.sock"

  def remove_socket(pid) = File.exist?(socket_of(pid)) && File.unlink(socket_of(pid))

  # @return [Array<String>] a file of each native thread; one that ends meanwhile is left out
  def of_threads(pid, name)
    Dir["/proc/#{pid}/task/*/#{name}"].filter_map do |file|
      File.read(file)
    rescue Errno::ENOENT, Errno::ESRCH
      nil
    end
  end

  # @return [Array<String>] the names of the profiler's native threads
  def threads_of_profiler(pid) = of_threads(pid, "comm").map(&:chomp).grep(/profiler/)
end
