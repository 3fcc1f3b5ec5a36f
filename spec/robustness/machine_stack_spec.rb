# frozen_string_literal: true

# Ticks where a thread's machine stack is almost full: the signal must have space, and the VM's own handling of the overflow must
# not be disturbed.
RSpec.describe "Samples at the end of a machine stack" do
  include_context "with a program"

  # C functions that recurse until the stack overflows, again and again, with garbage collected in between.
  def overflow(call, thread: false)
    program_json("machine_stack/overflows", env: { "CALL" => call, "THREAD" => thread.to_s })
  end

  { "Marshal.dump" => "Marshal.dump(nested)", "inspect" => "nested.inspect" }.each do |name, call|
    [false, true].each do |thread|
      it "leave #{name} of a deep Array its SystemStackError, on #{thread ? "a thread" : "the main thread"}" do
        expect(overflow(call, thread: thread)).to match(overflows: be_positive, samples: be_positive)
      end
    end
  end

  it "do not block the next garbage collection with a buffer that a longjmp left taken" do
    samples = run_json(<<~RUBY, timeout: 20)
      Profiler.run { 10_000.times { |number| number.to_s } }
      Profiler::Testing.leave_scratch
      GC.start
      print_json(Profiler.run(interval: 50) { 300_000.times { |number| number.to_s } }.stats[:samples])
    RUBY
    expect(samples).to be_positive
  end

  # Ruby jumps out of what runs into the end: of the allocator too, whose lock is then never released.
  it "let a session run or refuse it, however near the end" do
    counts = program_json("machine_stack/sessions", timeout: 20)
    expect(counts).to match(refused: be_positive, threads: be_positive)
  end
end
