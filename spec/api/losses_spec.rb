# frozen_string_literal: true

RSpec.describe "What is said of losses" do
  include_context "with a program"

  # Raises an error of another thread's into the block, which says on a queue when it can.
  let(:interrupted) { <<~RUBY }
    class Late < StandardError; end
    def interrupted
      ready = Queue.new
      target = Thread.current
      late = Thread.new { ready.pop; target.raise(Late) }
      yield ready
      late.join
      sleep(1) # it is on its way
      "lost"
    rescue Late
      "arrived"
    end
  RUBY

  it "loses no time-out that arrives while an error of the app is asked what it says" do
    expect(run(<<~RUBY)).to eq "arrived\n"
      #{interrupted}
      slow = StandardError.new
      ready = nil
      slow.define_singleton_method(:message) { ready << 1; sleep(0.3); "slow" }
      puts(interrupted { |it| ready = it; Profiler.const_get(:Losses).new("a test").add(slow) })
    RUBY
  end

  it "loses no time-out that arrives while it waits for stderr" do
    expect(run(<<~RUBY)).to eq "arrived\n"
      #{interrupted}
      reader, writer = IO.pipe
      STDERR.reopen(writer)
      nil while writer.write_nonblock("x" * 4096, exception: false) != :wait_writable
      puts(interrupted { |ready| ready << 1; Profiler.const_get(:Losses).new("a test").add(IOError.new("no disk")) })
    RUBY
  end

  it "loses none while Rails' notifications are read" do
    expect(run(<<~RUBY)).to eq "arrived\nsql (not read: NoMethodError)\n"
      require "profiler/in_rails/markers"
      #{interrupted}
      markers = Profiler::InRails::Markers
      puts(interrupted { |ready| markers.send(:readable, "sql") { ready << 1; sleep(0.3); "text" } })
      puts(markers.send(:readable, "sql") { nil.text })
    RUBY
  end
end
