# frozen_string_literal: true

# Law 1 across processes: every sample is in exactly one file, and all files together are the clocks of all
# processes.
RSpec.describe "CPU time of processes that fork" do
  def profile(path) = Profiler::Profile.load(path)

  Perf.among("perf", "thread_timer", "ticker", "setitimer").each do |engine|
    it "is in the file of its process, once, engine #{engine}", :timed do
      require "profiler"
      Dir.mktmpdir do |box|
        log = File.join(box, "log").tap { |path| Dir.mkdir(path) }
        result = profiler_child("record", "--engine", engine, "--quiet", "--out", "#{box}/all.pb.gz", "--", RbConfig.ruby,
                                File.expand_path("../programs/session/forks.rb", __dir__), env: { "LOG" => log }, timeout: 300)
        expect([result.code, result.err]).to eq([0, ""])
        wait_until { Dir["#{log}/*.daemon"].any? && Dir["#{box}/all.*.pb.gz"].size >= Dir["#{log}/*"].size - 1 }

        clocks = Dir.children(log).to_h { |name| [name, File.read(File.join(log, name)).split.map { |entry| Integer(entry) }] }
        files = Dir["#{box}/all*.pb.gz"].to_h { |path| [path[/all\.(.*)pb\.gz/, 1].chomp("."), profile(path)] }
        expect(clocks.keys.map { |name| name.split(".").last }.uniq.size).to be > 8
        clocks.each do |name, (thread, process)|
          pid, kind = name.split(".")
          file = files[kind == "main" ? "" : kind == "before_exec" ? "#{pid}.0" : pid]
          expect(file).not_to be_nil, "no file of #{name} among #{files.keys}"
          # From the process's own account to its end is the time of writing. The process's clock also has threads that are not
          # Ruby's (its timer, the collector), and one thread's clock lacks the other threads.
          expect(file.samples.sum(&:cpu)).to be_between(thread - 5_000_000, process + 60_000_000), "#{name}: #{file.samples.sum(&:cpu)} of #{thread} to #{process}"
          expect(file.meta[:pid]).to eq(Integer(pid))
          next unless kind.match?(/fork|thread|child|parent|now|block|popen|before/)

          own = file.samples.select { |sample| sample.frames.any? { |frame| frame.name.include?("as_#{kind}") || frame.name.include?("burn") } }
          seen = file.samples.map { |sample| [sample.cpu, sample.frames.first.name] }
          expect(own.sum(&:cpu)).to be > 10_000_000, "#{name}: #{seen} #{file.meta[:notes]} #{file.stats}"
        end
        all = Profiler::Profile.merge(*files.values)
        expect(all.samples.sum(&:count)).to eq(files.values.sum { |file| file.samples.sum(&:count) })
        expect(all.samples.sum(&:cpu)).to eq(files.values.sum { |file| file.samples.sum(&:cpu) })
        # The program that was not Ruby, and the one that another Ruby replaced immediately, have none.
        expect(files.size).to be_between(clocks.size, clocks.size + 3)
      end
    end
  end

  it "ends in a child that is forked while the collector looks for the cgroup, as a session begins" do
    # The collector looks once in a process, so each try is a process.
    program = "require 'profiler'; s = Profiler.start(mode: :wall); begin; raise; rescue; Process.wait(fork { s.stop; exit!(0) }); end"
    30.times { expect(ruby_child("-e", program, timeout: 20).status).to be_success }
  end
end
