# frozen_string_literal: true

RSpec.describe Timed do
  include_context "with a box"

  # Runs a spec whose examples fail the first time.
  def run_spec(examples, **env)
    File.write(in_box("flaky_spec.rb"), <<~RUBY)
      require #{File.join(Child::ROOT, "spec/support/timed.rb").inspect}
      RSpec.describe "An example" do
        before { @turns = 0 }
        #{examples}
      end
    RUBY
    command_child("rspec", "-r", File.join(Child::ROOT, "spec/spec_helper.rb"), "--options", "/dev/null", "flaky_spec.rb", chdir: box,
                                                                                    env: { "SPEC_STRICT" => nil }.merge(env.transform_keys(&:to_s)))
  end

  def flaky(number, mark = ", :timed") = "it('fails once #{number}'#{mark}) { expect(@turns += 1).to eq(2) }\n"

  it "retries a marked example, counts that, and prints it in the last lines" do
    result = run_spec(Array.new(3) { |number| flaky(number) }.join)
    expect(result.code).to eq(0), result.out
    expect(result.out.lines.last(4).map(&:strip)).to match(["timed: 3 measured again (at most 10 may be)", *[/\AAn example fails once \d\z/] * 3])
  end

  it "retries with what let makes anew, as the files of the first run are gone" do
    result = run_spec("let(:turn) { @turns += 1 }\nit('passes', :timed) { expect(turn).to eq(2) }")
    expect(result.code).to eq(0), result.out
  end

  it "fails a run with more than ten such examples" do
    result = run_spec(Array.new(11) { |number| flaky(number) }.join)
    expect(result.code).to eq(1), result.out
    expect(result.out).to include("11 examples, 0 failures", "more than 10 examples had to be measured again")
  end

  it "retries no unmarked example, none that failed each time or whose child died, and none with SPEC_STRICT=1" do
    expect(run_spec(flaky(1, "")).out).to include("1 example, 1 failure", "timed: 0 measured again")
    expect(run_spec("it('passes', :timed) { expect(@turns += 1).to eq(3) }").out).to include("1 example, 0 failures", "timed: 1 measured again")
    expect(run_spec("it('fails', :timed) { expect(@turns += 1).to eq(6) }").out).to include("1 example, 1 failure", "timed: 1 measured again")
    expect(run_spec("it('died', :timed) { expect(@turns += 1).to eq(2), 'SIGSEGV' }").out).to include("1 example, 1 failure", "timed: 0 measured again")
    expect(run_spec(flaky(1), SPEC_STRICT: "1").out).to include("1 example, 1 failure", "timed: no retry")
  end
end
