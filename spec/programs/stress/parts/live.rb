# frozen_string_literal: true

require "tmpdir"

# Programs that look into this one over its control socket, all the time: where its threads are, and sessions that they begin, take and
# leave. Beside them threads begin and end, code comes and goes, objects are moved, and the GVL is held for a while.
module Stress
  LIVE = File.join(Dir.mktmpdir("stress"), "control")
  CLIENT = File.expand_path("../client.rb", __dir__)

  if PROFILED
    Profiler.control(directory: LIVE)
    clients = %w[dumps dumps sessions visits].map do |kind|
      [kind, IO.popen({ "PROFILER_CONTROL" => LIVE }, [RbConfig.ruby, "-I#{File.expand_path("../../../../lib", __dir__)}", CLIENT, Process.pid.to_s, kind])]
    end
    check_at_end do
      Profiler.control.close
      clients.each do |kind, io|
        done = Integer(io.read, exception: false)
        io.close
        count(kind.to_sym, done || 0)
        wrong("a client that got no answer", kind) unless done&.positive?
      end
    end
  end

  worker("threads that come and go") do
    Array.new(5) { Thread.new { work(50); sleep(0.001) } }.each(&:join)
    count(:threads, 5)
  end
  worker("code that comes and goes") do
    number = rand(1_000)
    eval("def self.live_#{number} = Array.new(50) { Object.new }; live_#{number}; singleton_class.remove_method(:live_#{number})", binding, "live_#{number}.rb")
    count(:evals)
  end
  worker("collections") do
    GC.start(full_mark: rand < 0.3)
    GC.compact if rand < 0.2 && GC.respond_to?(:compact) && RUBY_VERSION >= "3.3"
    sleep(rand * 0.02)
  end
  worker("holding the GVL") do
    PROFILED ? Profiler::Testing.hog_gvl([1, 20, 1_300].sample) : work(1_000)
    sleep(rand * 2)
    count(:held)
  end
  worker("waiting") { sleep(rand * 0.01) }
end
