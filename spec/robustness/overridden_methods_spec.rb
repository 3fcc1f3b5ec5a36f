# frozen_string_literal: true

# Ruby's own methods are asked, whatever an app has put in their place.
RSpec.describe "An app that overrides methods" do
  include_context "with a program"

  def thread_names(before: "", after: "")
    Dir.mktmpdir do |directory|
      first = File.join(directory, "first.rb")
      File.write(first, before)
      run_json(<<~RUBY, ruby_options: ["-W0", "-r#{first}"])
        #{after}
        done = false
        begun = Queue.new
        worker = Thread.new { Thread.current.name = "worker"; begun << true; 1_000.times { |number| number.to_s } until done }
        begun.pop
        profile = Profiler.run(mode: %i[cpu wall]) { 200_000.times { |number| number.to_s } }
        done = true
        worker.join
        print_json(profile.samples.map(&:thread_name).uniq.sort)
      RUBY
    end
  end

  overriding = {
    "replaces Thread.list" => "def Thread.list = raise('not for you')",
    "prepends to Thread.list" => "Thread.singleton_class.prepend(Module.new { def list = [] })",
    "replaces Thread#name and Thread#native_thread_id" => "class Thread; def name = raise('no'); def native_thread_id = raise('no'); end"
  }

  overriding.each do |name, code|
    it "is profiled when it #{name} after the profiler is loaded" do
      expect(thread_names(after: code)).to eq(%w[main worker])
    end
  end

  overriding.first(2).each do |name, code|
    it "is profiled when it #{name} before that" do
      expect(thread_names(before: code)).to eq(%w[main worker])
    end
  end

  it "keeps the value and the time of a marker's block when the app has replaced the clock" do
    values, times = run_json(<<~RUBY)
      Profiler.start
      values = [-5, 2**70, "now", nil].map do |reading|
        Process.define_singleton_method(:clock_gettime) { |*| reading }
        Profiler.marker("import") { sleep 0.002; reading.inspect }
      end
      print_json([values, Profiler.stop.markers.map(&:duration)])
    RUBY
    expect(values).to eq(["-5", "1180591620717411303424", '"now"', "nil"])
    expect(times).to match([be_between(2_000_000, 60_000_000_000)] * 4)
  end

  it "ends the app as it would when an error of the recording cannot be shown" do
    Dir.mktmpdir do |box|
      result = ruby_child("-rprofiler/autoload", "-e", <<~RUBY, chdir: box)
        class Secret < StandardError; def message = raise(self.class); end
        Profiler::Profile.prepend(Module.new { def write_into(*, **) = raise(Secret) })
        puts "works"
      RUBY
      expect([result.out, result.status.exitstatus, result.err.lines.size]).to eq(["works\n", 0, 1])
      expect(result.err).to eq("[profiler] the profile was lost: Secret\n")
    end
  end
end
