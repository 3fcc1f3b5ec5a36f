# frozen_string_literal: true

# A program under test: a child that has the profiler, work to do, and a way to show an error.
RSpec.shared_context "with a program" do
  # @param code [String] may call +burn(milliseconds)+ and +error { ... }+, which gives "Class: message" or "none"
  # A spec can +let(:prelude)+ for what its programs have in common.
  #
  # @return [String] what it prints
  def run(code, **options)
    result = ruby_child("-e", <<~RUBY, **options)
      require "profiler"
      def burn(milliseconds = 60)
        till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) + milliseconds
        10.times { |number| number.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :millisecond) < till
      end
      def error = yield.then { "none" } rescue "\#{$!.class}: \#{$!.message}"
      #{prelude}
      #{code}
    RUBY
    expect(result.status).to be_success, result.err
    expect(result.err).to eq("")
    result.out
  end

  let(:prelude) { "" }
end
