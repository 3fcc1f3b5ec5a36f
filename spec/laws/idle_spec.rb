# frozen_string_literal: true

# Law 3 for a process that has nothing to do: our threads sleep while its own wait, and when these run for a moment.
RSpec.describe "An idle process" do
  include_context "with a program"

  modes = RUBY_VERSION < "3.3" ? [%i[cpu]] : [%i[cpu], %i[wall], %i[cpu wall]] # before, waits have to be looked for

  # How often threads were switched to in 3 seconds of a session: ours, and those of a program that has so many threads, each of
  # which wakes 5 times a second.
  def switches(mode, waking:)
    run_json(<<~RUBY)
      # Little work, as this thread is not idle meanwhile: the files are read first, and then understood.
      def status = Dir.glob("/proc/self/task/*/status").map { |file| File.read(file) }
      def switches(status)
        whose = status.group_by { |text| text.start_with?("Name:\\tprofiler") ? :ours : :theirs }
        whose.transform_values { |texts| texts.sum { |text| text.scan(/ctxt_switches:\\s*(\\d+)/).sum { |(count)| Integer(count) } } }
      end
      #{waking}.times { Thread.new { loop { sleep 0.2 } } }
      session = Profiler.start(mode: #{mode})
      sleep 2
      before = status
      sleep 3
      after = status
      session.stop
      before = switches(before)
      print_json(switches(after).to_h { |whose, count| [whose, count - before.fetch(whose, 0)] })
    RUBY
  end

  modes.each do |mode|
    it "is not woken, mode #{mode.join(",")}", :timed do
      expect(switches(mode, waking: 0).fetch(:ours)).to be <= 6 # this thread itself wakes twice
    end

    it "that wakes for a moment now and then wakes none of our threads, mode #{mode.join(",")}", :timed do
      counts = switches(mode, waking: 5)
      expect(counts.fetch(:theirs)).to be >= 60
      expect(counts.fetch(:ours)).to be <= 0.5 * counts.fetch(:theirs), counts.to_s # seven times as many when each wake woke ours
    end
  end
end
