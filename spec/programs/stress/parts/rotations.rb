# frozen_string_literal: true

require_relative "../injection"

# Threads that rotate one session at the same time, some gently, some interrupted: each object is in one profile.
module Stress
  Kept = Class.new
  SESSION = PROFILED ? Profiler.start(mode: :allocations, every: 1) : nil
  MADE = Queue.new
  SEEN = Queue.new

  def self.kept(profile) = profile.samples.sum { |row| row.labels["class"] == "Stress::Kept" ? row.alloc_objects : 0 }

  3.times do |number|
    worker("rotations #{number}") do
      next sleep(0.1) unless PROFILED

      MADE << 50.times { Kept.new }
      SESSION.rotate(gently: number.even?) { |profile| SEEN << kept(profile) }
      count(:rotations)
    end
  end
  worker("rotations that are left") do
    next sleep(0.1) unless PROFILED

    MADE << 7.times { Kept.new }
    SESSION.rotate(gently: rand(2).zero?) { break }
    count(:left)
  end
  worker("rotations that are ended by others") do
    next sleep(0.1) unless PROFILED

    thread = Thread.new { SESSION.rotate(gently: true) { sleep } }
    sleep(rand * 0.01)
    thread.kill.join
    count(:killed)
  end
  worker("code that comes and goes") do
    number = rand(1_000)
    eval("def self.new_#{number} = Array.new(5) { Object.new }; new_#{number}", binding, "new_#{number}.rb")
  end
  check = lambda do
    last = kept(SESSION.stop)
    made = Array.new(MADE.size) { MADE.pop }.sum
    seen = Array.new(SEEN.size) { SEEN.pop }.sum + last
    wrong("objects in no profile, or in two", "#{seen} of #{made}") unless seen == made
  end
  check_at_end(&check) if PROFILED
end
