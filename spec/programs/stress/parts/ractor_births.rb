# frozen_string_literal: true

# Ractors that begin, allocate, collect garbage, raise and end, beside compactions and sessions of the main Ractor. From Ruby 4.0 on hooks on
# objects and on garbage collection are called in them, too. Before that Ruby itself does not survive such a program for long.
Warning[:experimental] = false
module Stress
  Mine = Class.new
  Theirs = Class.new

  # Objects of the main Ractor, as a session counts them beside all others.
  def self.check_count
    profile = Profiler.run(mode: :allocations, every: 1, threads: :current) { 2_000.times { Mine.new } }
    counts = [Mine, Theirs].map { |item| profile.samples.sum { |row| row.labels["class"] == item.name ? row.alloc_objects : 0 } }
    wrong("objects of a session", "#{counts.inspect}, and not 2000 and 0") unless counts == [2_000, 0]
    count(:sessions)
  end

  def self.bear(kind)
    ractor = Ractor.new(kind) do |way|
      made = Array.new(200) { [Theirs.new, way.to_s, { way => 1.5 }] }
      GC.start if (way % 5).zero?
      Fiber.new { made.each(&:hash) }.resume
      Thread.new { Array.new(50) { |number| number.to_s } }.join if (way % 3).zero?
      raise "it ends" if (way % 7).zero?

      made.size
    end
    begin
      ractor.value
    rescue Ractor::RemoteError
      count(:raised)
    end
    count(:ractors)
  end

  if RUBY_VERSION >= "4.0"
    4.times { |number| worker("births #{number}") { Stress.bear(rand(100)) } }
    worker("compactions") do
      GC.compact
      count(:compactions)
      sleep(0.02)
    end
    worker("sessions") do
      next sleep(0.1) unless PROFILED

      begin
        Profiler.run(**view) { 20.times { work } }
        count(:sessions)
      rescue Profiler::Unsupported => error
        raise if RUBY_VERSION < "4.1" || !error.message.match?(/:heap\]? cannot/) # which is refused there beside Ractors
      end
    end
    worker("counts") { PROFILED && MODE != "cpu" ? check_count : sleep(0.1) }
  else
    worker("nothing, before Ruby 4.0") { sleep(0.1) }
  end
end
