# frozen_string_literal: true

require_relative "../support/pyroscope_server"

# A clock that is set while windows are recorded: by NTP after a boot, or by hand. Engines refuse what is too old or too new.
RSpec.describe "Windows of a process whose clock is set" do
  include_context "with a program"
  include_context "with a box"

  let(:hour) { 3_600 }
  let(:prelude) { require_program("fleet/clock") }

  def clock_env
    File.binwrite(in_box("clock"), [0].pack("q"))
    Preloaded.env("stepped_clock").merge("STEPPED_CLOCK" => in_box("clock"))
  end

  it "have the time of the clock at their end, so each arrives that ends while the clock is right", :timed do
    PyroscopeServer.open(rate: nil) do |server|
      result = run_json(<<~RUBY, env: clock_env)
        set_clock(-#{2 * hour})
        session = send_to("#{server.url}", 60)
        burn
        set_clock(0) # back to what is right, in the middle of a window
        burn
        flushed = session.flush
        burn
        set_clock(#{hour})
        burn
        set_clock(0)
        burn
        print_json(flushed: flushed, stopped: session.stop, counts: @sink.counts, windows: @windows)
      RUBY
      expect(result).to include(flushed: true, stopped: true)
      # On a busy machine, a window can also end while the clock is wrong.
      expect(result[:counts]).to include(delivered: 2, lost: 0)
      result[:windows].each { |started, lasted, _cpu, right| expect(started + lasted).to be_within(1).of(right) }
      expect(server.profiles.sum { |profile| profile.pprof.total("cpu") }).to eq(result[:windows].sum { |entry| entry[2] })
    end
  end

  it "are counted as lost if the backend refuses their time, keep their rhythm, and lose no CPU time", :timed do
    PyroscopeServer.open(rate: nil) do |server|
      result = run_json(<<~RUBY, env: clock_env, err: include("outside of ingestion window"))
        before = cpu_now
        session = send_to("#{server.url}", 0.5)
        began = now
        [0, #{hour}, 0, #{-hour}, #{hour}, 0].each do |seconds|
          set_clock(seconds)
          3.times { burn(150); sleep 0.1 }
        end
        took = (now - began) / 1e9
        stopped = session.stop
        print_json(stopped: stopped, took: took, lost: session.lost, cpu: cpu_now - before, threads: threads_cpu, counts: @sink.counts, windows: @windows)
      RUBY
      expect(result[:stopped]).to be(true)
      windows, counts = result[:windows], result[:counts]
      expect(windows.size).to eq(counts[:delivered] + counts[:lost])
      expect(counts.values_at(:delivered, :lost)).to all(be_positive)
      expect(result[:lost]).to eq(counts[:lost])
      # A step ends a window, and no more than that.
      expect(windows.size).to be_between(result[:took] / 0.5 * 0.6, (result[:took] / 0.5) + 6 + 2)
      expect(windows.map { |window| window[1] }).to all(be_between(0, 5))
      expect(windows.sum { |window| window[2] }).to be_between(result[:cpu] * 0.9, result[:cpu] * 1.1)
      expect(result[:threads]).to be < result[:took] * 0.2
      expect(server.profiles.map(&:id).uniq.size).to eq(counts[:delivered])
    end
  end
end
