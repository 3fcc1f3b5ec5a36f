# frozen_string_literal: true

require_relative "../../support/server"
require_relative "../../support/tools"

# The samples of each process are in a file of its own, none is in two, and merged they are complete, however the processes are made.
RSpec.describe "profiler record with forking servers" do
  include_context "with a box"
  include_context "with a program"
  include Server
  include Tools

  # An example that is measured again begins without files.
  def env
    FileUtils.mkdir_p(in_box("accounts"))
    { "ACCOUNTS" => in_box("accounts"), "RUBYOPT" => "-W0 -I#{Child::LIB} -rprofiler/autoload", "PROFILER_OUT" => in_box("all.pb.gz"), "PROFILER_QUIET" => "1" }
  end

  # Nanoseconds of CPU in +method+ by the pid in the profile's header, of each file.
  def used(method)
    run_json(<<~RUBY, chdir: box).transform_keys(&:to_s)
      sum = ->(it) { samples_in(it, #{method.inspect}).sum(&:cpu) }
      all = Dir["all*.pb.gz"].map { |file| Profiler::Profile.load(file) }
      print_json(all.to_h { |it| [it.meta[:pid], sum.(it)] }.merge(all: sum.(Profiler::Profile.merge(*all))))
    RUBY
  end

  # The CPU time by each process's own account: a file named by its pid.
  def accounts
    Dir.children(in_box("accounts")).to_h { |pid| [pid, Integer(File.read(in_box("accounts/#{pid}")))] }
  end

  def expect_each_its_own(method, least_processes)
    used = used(method)
    whole = used.delete("all")
    expect(accounts.size).to be >= least_processes
    expect(used.reject { |_pid, ns| ns.zero? }.keys).to match_array(accounts.keys)
    # At both ends of each piece of work, a part of the time between two samples belongs to other work.
    accounts.each { |pid, ns| expect(used[pid]).to be_within((ns * 0.15) + 8_000_000).of(ns) }
    expect(whole).to eq(used.values.sum)
  end

  # Sends requests until every worker has had some.
  def keep_busy(port, workers)
    pids = Hash.new(0)
    wait_until(40) do
      Array.new(8) { Thread.new { ask(port, "/").body } }.map(&:value).each { |pid| pids[pid] += 1 }
      pids.size >= workers && pids.values.min >= 8
    end
  end

  # On Ruby 3.3 a worker of Puma that stops hangs at times in IO#close, with no profiler as well. What is killed then writes nothing.
  def until_it_ends
    4.times do
      yield
      return unless RUBY_VERSION.start_with?("3.3") && $?.termsig == Signal.list.fetch("KILL")

      FileUtils.rm_f(Dir[in_box("accounts/*"), in_box("all*.pb.gz")])
    end
    raise "the server never ended by itself"
  end

  [["puma", "workers of Puma", %w[puma -q -w 2 -t 2:2 --preload -b tcp://127.0.0.1:PORT]],
   ["unicorn", "workers of Unicorn", %w[unicorn -E production -c spec/integrations/rack/apps/unicorn.rb -l 127.0.0.1:PORT]]].each do |command, what, arguments|
    it "writes #{what} to files of their own", :timed do
      need command
      until_it_ends { serving(*arguments, File.join(__dir__, "apps/plain.ru"), env: env) { |port| keep_busy(port, 2) } }
      expect_each_its_own("Work.serve", 2)
    end
  end

  it "profiles the children of Parallel", :timed do
    need_library "parallel"
    result = ruby_child("-e", <<~RUBY, env: env.merge("RUBYOPT" => nil), ruby_options: ["-rprofiler/autoload"])
      require "parallel"
      #{work}
      Parallel.each(1..12, in_processes: 3) { work }
    RUBY
    expect(result.status).to be_success, result.err
    expect_each_its_own("Object#work", 2)
  end

  it "profiles a child for each job, as in Resque, that ends by exit!", :timed do
    result = ruby_child("-e", <<~RUBY, env: env.merge("RUBYOPT" => nil), ruby_options: ["-rprofiler/autoload"])
      #{work}
      6.times { Process.wait(fork { 3.times { work }; exit! }) }
    RUBY
    expect(result.status).to be_success, result.err
    expect_each_its_own("Object#work", 6)
  end

  let(:work) { <<~'RUBY' }
    $used = 0
    def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    def work
      before = now
      100.times { |number| number + 1 } while now - before < 15_000_000
      $used += now - before
      File.write(File.join(ENV.fetch("ACCOUNTS"), Process.pid.to_s), $used.to_s)
    end
  RUBY
end
