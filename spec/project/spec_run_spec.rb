# frozen_string_literal: true

# `rake spec`, on small specs of its own.
RSpec.describe "The run of all specs" do
  include_context "with a box"

  # @param files [Hash] the examples of each file
  def run_specs(files, jobs: "[]", strict: nil)
    Dir.mkdir(in_box("spec"))
    script(%(require #{File.join(Child::ROOT, "spec/support/timed.rb").inspect}\nRSpec.configure { |it| it.example_status_persistence_file_path = ".rspec_status" }\n),
           name: "spec/spec_helper.rb")
    script("--require spec_helper\n", name: ".rspec")
    files.each { |name, examples| script("RSpec.describe('#{name}') do\n#{examples}\nend\n", name: "spec/#{name}_spec.rb") }
    program = <<~RUBY
      require #{File.join(Child::ROOT, "rakelib/spec_run.rb").inspect}
      exit SpecRun.new(ruby: RbConfig.ruby, root: Dir.pwd, jobs: #{jobs}).run
    RUBY
    ruby_child("-e", program, chdir: box, timeout: 120, env: { "SPEC_STRICT" => strict })
  end

  it "runs each example once, and prints one summary, pending and retried ones too" do
    result = run_specs({ "one" => "it('passes') { }\nit('is timed', :timed) { expect($turns = $turns.to_i + 1).to eq(2) }",
                         "two" => "it('waits') { skip 'not here' }", "three" => "it('is timed too', :timed) { }" },
                       jobs: '[Job.new(name: "other", command: %w[echo other: 3 passed], seconds: 1, summary: /passed/)]')
    expect(result.out).to include("2 examples in 2 files", "2 examples that compare with clocks", "other: 3 passed", "measured again: one is timed", "timed: 1 measured again")
    expect(result.out.lines.grep(/examples?, /)).to eq(["4 examples, 0 failures, 1 pending\n"])
    expect(result.code).to eq(0)
  end

  it "runs a failed example again by itself, unless its child died or SPEC_STRICT=1 is set" do
    # Passes the second time.
    flaky = ->(name) { "it('#{name}') { first = !File.exist?('#{name}'); File.write('#{name}', ''); expect(first ? '%s' : 'fine').to eq('fine') }" }
    result = run_specs({ "one" => format(flaky["recovers"], "busy"), "two" => "it('passes') { }" })
    expect([result.code, result.out]).to match([0, a_string_including("2 examples, 0 failures", "untimed: 1 passed alone", "  one recovers")])
    FileUtils.rm_r(in_box("spec"))
    result = run_specs({ "three" => format(flaky["dies"], "killed by SIGSEGV") })
    expect([result.code, result.out]).to match([1, a_string_including("1 example, 1 failure", "untimed: 0 passed alone", "failed: ./spec/three_spec.rb")])
    FileUtils.rm_r(in_box("spec"))
    result = run_specs({ "four" => format(flaky["strict"], "busy") }, strict: "1")
    expect([result.code, result.out]).to match([1, a_string_including("1 example, 1 failure")])
  end

  it "fails when an example fails, in whichever process" do
    result = run_specs({ "one" => "it('passes') { }", "two" => "it('fails') { expect(1).to eq(2) }" })
    expect(result.out).to include("2 examples, 1 failure", "rspec ./spec/two_spec.rb[1:1] # two fails", "expected: 2", "failed: ./spec/two_spec.rb")
    expect(result.code).to eq(1)
  end

  it "fails when a timed example fails, and with more retries than are allowed" do
    result = run_specs({ "one" => "it('fails', :timed) { expect(1).to eq(2) }" }, strict: "1")
    expect([result.code, result.out]).to match([1, a_string_including("1 example, 1 failure")])
  end

  it "fails when a process ends before its examples did" do
    result = run_specs({ "one" => "it('ends') { exit!(0) }\nit('never runs') { }", "two" => "it('passes') { }" })
    expect([result.code, result.out]).to match([1, a_string_including("1 example, 0 failures", "2 examples did not run")])
  end

  it "fails when another job fails" do
    result = run_specs({ "one" => "it('passes') { }" }, jobs: '[Job.new(name: "other", command: %w[sh -c] + ["echo why; exit 3"], seconds: 1)]')
    expect([result.code, result.out]).to match([1, a_string_including("1 example, 0 failures", "other failed:\nwhy", "failed: other")])
  end
end
