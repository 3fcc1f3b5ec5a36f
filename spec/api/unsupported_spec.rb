# frozen_string_literal: true

RSpec.describe "Profiler on an unsupported Ruby" do
  include_context "with a program"

  it "loads, and explains why it is unsupported" do
    output = run_json(<<~RUBY, ruby_options: ["-r./spec/programs/refusals/other_engine.rb"], err: be_a(String))
      print_json(supported: Profiler.supported?, running: Profiler.running?, reason: Profiler.unsupported_reason, error: error { Profiler.run { } })
    RUBY
    expect(output).to match(supported: false, running: false, reason: /is not CRuby/, error: "Profiler::Unsupported: #{output[:reason]}")
  end

  # Both where it is built and where it is loaded.
  {
    "with musl" => ['Object.send(:remove_const, :RUBY_PLATFORM); RUBY_PLATFORM = "x86_64-linux-musl"', /x86_64-linux-musl has a C library that was not tested: only glibc is supported/],
    "of 32 bits" => ["class Integer; def size = 4; end", /is a 32-bit system/],
    "of another system" => ['Object.send(:remove_const, :RUBY_PLATFORM); RUBY_PLATFORM = "x86_64-freebsd14"', /x86_64-freebsd14 is not supported: only Linux is, and macOS as an experiment/],
  }.each do |name, (code, reason)|
    it "is refused on a Ruby #{name}" do
      loaded = ruby_child("-e", "#{code}; require 'profiler'; Profiler.run { } rescue puts $!.class, $!.message")
      expect(loaded.out).to match(/\AProfiler::Unsupported\n.*#{reason}/)
      built = ruby_child("-e", "#{code}; load '#{Child::ROOT}/ext/profiler/extconf.rb'")
      expect(built).to have_attributes(code: 1, err: /\A\nprofiler: .*#{reason}/)
    end
  end

  it "is no Ruby on macOS from 3.3 on" do
    said = 'Object.send(:remove_const, :RUBY_PLATFORM); RUBY_PLATFORM = "arm64-darwin24"; require "profiler"; puts Profiler.unsupported_reason.inspect'
    reason = "Ruby #{RUBY_VERSION} is too old: 3.3 or newer is needed on macOS" if RUBY_VERSION < "3.3"
    expect(ruby_child("-e", said).out).to eq("#{reason.inspect}\n")
  end

  it "is refused with another garbage collector" do
    result = ruby_child("-e", 'def GC.config = { implementation: "mmtk" }; require "profiler"; Profiler.run { } rescue puts $!.class, $!.message')
    expect(result.out).to start_with("Profiler::Unsupported\nthe garbage collector mmtk does not report when it runs"), result.err
  end

  # Such a gem has extensions by the versions of their Rubies, and none that was built where it is installed.
  describe "in the gem of a platform" do
    let(:own) { RUBY_VERSION[/\A\d+\.\d+/] }

    # The output of a program that requires a copy of our files with these extensions: nil is ours, a text is not an extension.
    def with_extensions(extensions)
      Dir.mktmpdir do |directory|
        lib = File.join(directory, "lib")
        FileUtils.cp_r(Child::LIB, lib)
        ours = Dir[File.join(lib, "profiler/profiler.{so,bundle}")].first
        extensions.each do |version, text|
          FileUtils.mkdir_p(File.join(lib, "profiler", version))
          place = File.join(lib, "profiler", version, "profiler.so")
          text ? File.write(place, text) : FileUtils.cp(ours, place)
        end
        File.delete(ours)
        said = <<~RUBY
          begin
            require "profiler"
            puts Profiler.unsupported_reason || Profiler.run { 7 }.value
          rescue LoadError
            puts $!.message
          end
        RUBY
        command_child(RbConfig.ruby, "-I", lib, "-e", said).out
      end
    end

    it "loads the one for this Ruby" do
      expect(with_extensions("2.7" => "of another Ruby", own => nil)).to eq("7\n")
    end

    it "says which Rubies it is for" do
      expect(with_extensions("2.6" => "x", "2.7" => "x")).to eq("this gem has an extension for Ruby 2.6, 2.7, and none for #{own}: the source gem builds one where it is installed\n")
    end

    it "says that an extension does not fit this system" do
      expect(with_extensions(own => "no library")).to match(/\Athe extension of this gem does not fit this system \(.+\): the source gem builds one where it is installed\n\z/)
    end
  end

  # Hooks on garbage collection are not used before Ruby 3.3.
  describe "that is newer than those it was tested with", if: RUBY_VERSION >= "3.3" do
    let(:prelude) { <<~RUBY }
      Profiler.const_get(:SelfCheck).send(:remove_const, :NEEDED)
      Profiler.const_get(:SelfCheck)::NEEDED = true
      # Answers of the VM that are wrong.
      def answer(*answers) = Profiler.const_get(:Native).define_singleton_method(:probe) { |_objects| answers }
    RUBY

    it "works if its self-check passes" do
      expect(run_json("print_json([Profiler.unsupported_reason, Profiler.run { burn }.stats[:samples]])")).to match([nil, be_positive])
    end

    names = '["Profiler::Native.probe", "Profiler::SelfCheck.probe"]'
    {
      '["foo", "bar", "baz"], 100, true' => 'a known stack was walked as ["foo", "bar"]',
      "#{names}, 3, true" => "the hook on allocation was called for 3 of 100 objects",
      "#{names}, 100, false" => "the hooks on garbage collection were not called"
    }.each do |answers, reason|
      it "is refused because #{reason}" do
        message, why = run_json("answer(#{answers}); print_json([error { Profiler.run { } }, Profiler.unsupported_reason])")
        expect(message).to eq("Profiler::Unsupported: #{why}")
        expect(why).to start_with("Ruby #{RUBY_VERSION} is newer than those").and end_with("fails the self-check: #{reason}")
      end
    end
  end
end
