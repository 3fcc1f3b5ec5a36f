# frozen_string_literal: true

require_relative "../support/tools"

# A name is the same in every process, wherever its objects lie and move to.
RSpec.describe "Method names in many processes" do
  include Tools
  include_context "with a program"

  def names_of(seed, padding)
    result = ruby_child("spec/programs/names/random_names.rb", env: { "SEED" => seed.to_s, "PADDING" => padding.to_s }, timeout: 120)
    expect(result.status).to be_success, result.err
    result.out.lines(chomp: true)
  end

  seeds = ENV["PROPERTY_SEED"] ? [Integer(ENV["PROPERTY_SEED"])] : Array.new(Integer(ENV.fetch("PROPERTY_RUNS", "3"))) { rand(1 << 30) }
  seeds.each do |seed|
    it "are identical, and hold no address (PROPERTY_SEED=#{seed})" do
      one = names_of(seed, 0)
      two = names_of(seed, 50_000)
      expect(one - two).to eq([])
      expect(two - one).to eq([])
      expect(one.grep(/\|made\.rb/).size).to be > 5
      expect(one.grep(/0x\h/)).to eq([])
      expect(one.grep(/unknown|^block/).grep_v(/random_names/)).to eq([])
    end
  end

  it "survive the garbage collection of their owners" do
    names = run_json(<<~RUBY, timeout: 120)
      GC.auto_compact = true
      profile = Profiler.run(interval: 50) do
        400.times do |turn|
          eval("class Gone\#{turn}; def work = 300.times { |it| it.to_s }; end; Gone\#{turn}.new.work")
          Object.send(:remove_const, "Gone\#{turn}")
          GC.compact if turn % 20 == 0
        end
      end
      print_json(profile.samples.flat_map { |row| row.frames.map(&:name) }.uniq.grep(/Gone|unknown/))
    RUBY
    expect(names.grep(/#work\z/).size).to be > 10
    expect(names).to all(match(/\AGone\d+#work\z/).or(match(/\A<class:Gone\d+>\z/)))
  end

  it "are stable for ActionView's templates" do
    Dir.mktmpdir do |views|
      Dir.mkdir("#{views}/posts")
      File.write("#{views}/posts/show.html.erb", "<% tick %><%= render 'posts/row' %>")
      File.write("#{views}/posts/_row.html.erb", "<% [1].each { tick } %>")
      need_library "action_view"
      names = Array.new(2) do
        run_json(<<~RUBY, timeout: 120)
          require "uri"
          require "action_view"
          def tick = Profiler::Testing.handler_ns(16)
          view = ActionView::Base.with_empty_template_cache.new(ActionView::LookupContext.new([#{views.inspect}]), {}, nil)
          profile = Profiler.run(threads: :current) { view.render(template: "posts/show") }
          print_json(profile.samples.flat_map { |it| it.frames.map(&:name) }.uniq.grep(/html_erb/).sort)
        RUBY
      end
      expect(names.uniq.size).to eq(1)
      expect(names.first).to match([/\A#<anonymous subclass of ActionView::Base>#_\w+_posts__row_html_erb\z/, /_posts_show_html_erb\z/])
    end
  end

  it "are equal when two runs are merged" do
    Dir.mktmpdir do |directory|
      files = Array.new(2) do |number|
        file = "#{directory}/#{number}.pb.gz"
        result = ruby_child("spec/programs/names/random_names.rb", file, env: { "SEED" => "7" }, timeout: 120)
        expect(result.status).to be_success, result.err
        file
      end
      functions = run_json(<<~RUBY)
        one, two = #{files.inspect}.map { |file| Profiler::Profile.load(file) }
        functions = ->(profile) { profile.top(limit: 0).map { |it| it.values_at(:name, :path, :first_line) }.select { |it| it[1] == "made.rb" }.sort }
        print_json([one, one.merge(two)].map(&functions))
      RUBY
      expect(functions[1]).to eq(functions[0])
      expect(functions[0].size).to be > 5
    end
  end

  it "are equal with trim_path: when the app lies elsewhere" do
    reports = Array.new(2) do
      Dir.mktmpdir do |app|
        File.write("#{app}/job.rb", <<~RUBY)
          class Job
            def work = Set.new([1]).each { Profiler::Testing.handler_ns(16) }
          end
        RUBY
        run_json(<<~RUBY, chdir: app)
          require "set"
          require "./job"
          profile = Profiler.run(threads: :current, trim_path: true) { Job.new.work }
          functions = profile.top(limit: 0).map { |it| it.values_at(:name, :path, :first_line) }
          print_json(functions.reject { |it| it[0].match?(/finish|stop/) }.sort) # a slow end of the session may be in it, or not
        RUBY
      end
    end
    expect(reports[1]).to eq(reports[0])
    expect(reports[0]).to include(["Job#work", "job.rb", 2])
    expect(reports[0].map { |row| row.first(2) }).to include(%w[Set#each ruby:set.rb]) if RUBY_VERSION < "3.5"
  end
end
