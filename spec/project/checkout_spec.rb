# frozen_string_literal: true

require "fileutils"

# The specs pass wherever a checkout lies, and whatever the system lacks that they can do without.
RSpec.describe "A checkout" do
  include_context "with a box"

  def rspec(*args, around: [])
    command_child(*around, RbConfig.ruby, "-S", "rspec", "--no-color", *args, chdir: box, timeout: 300)
  end

  before do
    FileUtils.cp_r(%w[lib exe spec .rspec].map { |name| File.join(Child::ROOT, name) }, box)
  end

  it "can lie below a private home directory: programs of another user run all the same" do
    skip "only root can become another user" unless Process.uid.zero?
    File.chmod(0o700, box)
    picked = ["falls back to the timer of the process", "may not count time in the kernel", "refuses a timer for a thread"].flat_map { |name| ["-e", name] }
    result = rspec("spec/engines/engines_spec.rb", "spec/cli/doctor_spec.rb", *picked)
    left_out = result.out.scan(/^ +# (.*)/).flatten.grep_v(%r{\A\./})
    expect([result.out[/\d+ examples, \d+ failures/], left_out - ["perf is not for everybody here"]]).to eq(["3 examples, 0 failures", []]), result.out
  end

  it "needs no pseudo-terminal: examples that do are skipped with a reason" do
    hidden = ["unshare", "--mount", "sh", "-euc", 'mount -t tmpfs tmpfs /dev/pts; exec "$@"', "sh"]
    trial = command_child(*hidden, "true")
    skip "the terminals cannot be hidden here: #{trial.err.lines.first}" unless trial.status.success?
    result = rspec("spec/cli", "-e", "on a terminal", "-e", "a terminal's Ctrl-C", around: hidden)
    expect(result.out).to match(/^(\d+) examples, 0 failures, \1 pending$/), result.out + result.err
    expect(result.out.scan("this system gives no pseudo-terminal: ").size).to eq Integer(result.out[/^(\d+) examples/, 1])
  end
end
