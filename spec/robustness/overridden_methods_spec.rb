# frozen_string_literal: true

# Ruby's own methods are asked, whatever an app has put in their place.
RSpec.describe "An app that overrides methods of Thread" do
  def run(before: "", after: "")
    code = <<~RUBY
      #{before}
      require "profiler"
      #{after}
      done = false
      begun = Queue.new
      worker = Thread.new { Thread.current.name = "worker"; begun << true; 1_000.times { |number| number.to_s } until done }
      begun.pop
      profile = Profiler.run(mode: %i[cpu wall]) { 200_000.times { |number| number.to_s } }
      done = true
      worker.join
      p profile.samples.map(&:thread_name).uniq.sort
    RUBY
    result = ruby_child("-W0", "-e", code)
    expect(result.status).to be_success, result.err[0, 2_000]
    result.out
  end

  overriding = {
    "replaces Thread.list" => "def Thread.list = raise('not for you')",
    "prepends to Thread.list" => "Thread.singleton_class.prepend(Module.new { def list = [] })",
    "replaces Thread#name and Thread#native_thread_id" => "class Thread; def name = raise('no'); def native_thread_id = raise('no'); end"
  }

  overriding.each do |name, code|
    it "is profiled where it #{name} after the profiler is loaded" do
      expect(run(after: code)).to eq("[\"main\", \"worker\"]\n")
    end
  end

  overriding.first(2).each do |name, code|
    it "is profiled where it #{name} before that" do
      expect(run(before: code)).to eq("[\"main\", \"worker\"]\n")
    end
  end
end
