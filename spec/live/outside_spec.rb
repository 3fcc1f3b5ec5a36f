# frozen_string_literal: true

require "json"
require_relative "../support/other_user"
require_relative "../support/attach"

RSpec.describe "profiler dump --outside" do
  include_context "with a process that nobody prepared"
  include OtherUser

  def outside(*arguments) = profiler_child("dump", "--outside", *arguments.map(&:to_s))

  it "says what each thread of a Ruby process does in the kernel" do
    code = "reader, = IO.pipe; $0 = 'a shop'; Thread.new { reader.read }; Thread.new { loop { 1.to_s } }; sleep"
    plain(code) do |pid|
      sleep 0.5
      seen = JSON.parse(outside("--json", pid).out, symbolize_names: true)
      expect(seen).to include(pid: pid, program: "a shop", state: "waits", rss_kb: be > 1_000)
      busiest, *others = seen[:threads]
      expect(busiest).to include(state: "runs", share: be_positive)
      expect(others.map { |it| it[:call] }).to include(a_string_matching(/\Aread of descriptor \d+ \(pipe:\[\d+\]\)\z/).or(eq("ppoll").or(eq("futex"))))
      text = outside(pid).out
      expect(text).to match(/\AProcess #{pid}: a shop\nAs the kernel sees it, without Ruby's stacks\.\n\nthread \d+ .*: runs; [\d.]+ s of CPU time, now \d+% of a CPU$/)
    end
  end

  it "works for a program of any language, and one that is stopped" do
    sleeper = spawn("sleep", "60")
    expect(outside(sleeper).out).to match(/thread #{sleeper} "sleep": waits in (clock_nanosleep|nanosleep)/)
    Process.kill(:STOP, sleeper)
    wait_until { outside(sleeper).out.include?("\"sleep\": is stopped") }
  ensure
    Process.kill(:KILL, sleeper)
    Process.wait(sleeper)
  end

  it "says who may see more" do
    plain("sleep") do |pid|
      result = other_user_child("EXE", "dump", "--outside", pid.to_s)
      expect(result).to have_attributes(code: 0, err: "", out: /\AProcess #{pid}: .* sleep\n.*\n\nThe kernel does not say where its threads wait: run this as root\.\n\z/m)
    end
  end

  it "lets no name of a process write to the terminal" do
    plain("$0 = \"\\e[2Jx\"; Thread.main.name = \"a\\eb\"; sleep") do |pid|
      wait_until { File.read("/proc/#{pid}/cmdline").start_with?("\e") }
      expect(outside(pid).out + outside("--json", pid).out).not_to include("\e")
    end
  end

  it "fails in words" do
    expect(outside(2**22)).to have_attributes(code: 1, err: "profiler: there is no process #{2**22}\n")
    expect(outside("x")).to have_attributes(code: 2, err: /--outside needs a process id, not "x"/)
    expect(outside("--watch", "1", 1)).to have_attributes(code: 2, err: /--outside prints one dump/)
  end
end
