# frozen_string_literal: true

# Forked children, daemons, and processes that end or become others.
RSpec.describe "Profiler.continuous" do
  include_context "with windows"
  include_context "with a box"

  it "continues in forked children, each for itself, and in their children", :timed do
    child, inner, parent, parents_child = run_json(<<~'RUBY')
      def child_burn = $used = cpu_of { burn(150) }
      # Shares below the one method, and below both.
      def burnt = [in_windows("Object#child_burn"), in_windows("Object#burn")].map { |ns| ns.fdiv($used) }
      session = continue
      parents = cpu_of { burn(150) }
      child = in_fork do
        WINDOWS.clear
        inner = in_fork { WINDOWS.clear; child_burn; [session.stop, *burnt, Thread.list.size] }
        child_burn
        [[session.running?, session.stop, *burnt], inner]
      end
      session.stop
      print_json([*child, in_windows("Object#burn").fdiv(parents), WINDOWS.sum { |profile| samples_in(profile, "Object#child_burn").size }])
    RUBY
    both = [be_between(0.6, 1.1)] * 2
    expect(child).to match([true, true, *both])
    expect(inner).to match([true, *both, 1])
    expect([parent, parents_child]).to match([be_between(0.6, 1.1), 0])
  end

  it "continues in a daemon" do
    run(<<~RUBY)
      Profiler.continuous(out: #{in_box("daemon").inspect}, period: 0.1)
      Process.daemon(true, true)
      LOCK = File.open(#{in_box("lock").inspect}, "w").tap { |file| file.flock(File::LOCK_EX) } # until its end
      burn(300)
    RUBY
    cpu_ns = run_json(<<~RUBY)
      # The daemon is not a child of this process: its files show its progress.
      sum = -> { Dir.glob(File.join(#{in_box("daemon").inspect}, "*.pb.gz")).sum { |file| Profiler::Profile.load(file).stats[:cpu_ns] } }
      till = now + 20_000_000_000
      sleep 0.05 until sum.call > 200_000_000 || now > till
      print_json(sum.call)
    RUBY
    expect(cpu_ns).to be > 200_000_000
    File.open(in_box("lock")) { |file| wait_until { file.flock(File::LOCK_EX | File::LOCK_NB) } } # it writes into the box until then
  end

  it "ends no session of a child that is forked in its block" do
    result = run_json(<<~'RUBY')
      reader, writer = IO.pipe
      session = Profiler.continuous(period: 0.1) do |profile|
        pid = fork { writer << [Profiler.running?, session.stop].inspect unless writer.closed?; exit!(0) }
        Process.wait(pid)
        WINDOWS << profile
      end
      burn_in_pieces(200)
      sleep 0.05 until WINDOWS.any?
      writer.close
      first = reader.read[/\[[a-z, ]+\]/]
      print_json([first, session.running?, session.stop])
    RUBY
    expect(result).to eq(["[false, false]", true, true])
  end

  { "exit!" => "exit!(0)", "exec" => 'exec("true")', "a daemon" => "Process.daemon(true); exit!(0)" }.each do |name, code|
    it "delivers what was recorded when the process ends by, or becomes, #{name}", :timed do
      used = Integer(run(<<~RUBY))
        Profiler.continuous(out: #{in_box("all").inspect}, period: 3_600)
        puts cpu_of { burn(100) }
        $stdout.flush
        #{code}
      RUBY
      cpu_ns = run_json("print_json(Dir.glob(File.join(#{in_box("all").inspect}, '*.pb.gz')).sum { |it| samples_in(Profiler::Profile.load(it), /Object#burn|garbage/).sum(&:cpu) })")
      expect(cpu_ns).to be_between(used - 40_000_000, used + 25_000_000)
    end
  end

  it "delivers the last profile of a child of IO.popen", :timed do
    lines = run(<<~'RUBY').lines.map { |line| Integer(line) }
      used = 0
      session = Profiler.continuous(period: 3_600) do |profile|
        $stdout.syswrite("#{(samples_in(profile, /Object#burn|garbage/).sum(&:cpu) - used) / 1_000_000}\n") if used.positive?
      end
      IO.popen("-") { |io| io ? print(io.read) : used = cpu_of { burn(100) } }
      $stdout.flush
      session.stop
    RUBY
    expect(lines).to match([be_between(-40, 25)])
  end
end
