# frozen_string_literal: true

# Labels and sessions in a process with Ractors: what happens on one does not change what another one sees. Before Ruby 4.0 fibers are
# only the main Ractor's: two that begin at once in two Ractors can get the same stack.
Warning[:experimental] = false
module Stress
  def self.first = work(40)
  def self.second = work(40)

  def self.label_in_ractor
    ractor = Ractor.new(PROFILED) do |profiled|
      made = 0
      20.times { |number| profiled ? Profiler.label(ractor: number) { made += number.to_s.size } : made += number.to_s.size }
      Fiber.new { profiled ? Profiler.label(on: "fiber") { made } : made }.resume if RUBY_VERSION >= "4.0"
    end
    ractor.respond_to?(:value) ? ractor.value : ractor.take
    count(:ractors)
  end

  # Two fibers in turn, each with a label of its own, and what a session makes of them.
  def self.check_turns(turns, before: -> {})
    profile = Profiler.run(mode: :cpu, interval: 200, threads: :current) do
      before.call
      fibers = %i[first second].map do |name|
        Fiber.new { Profiler.label(turn: name) { turns.times { Fiber.yield(4.times { Stress.send(name) }) } } }
      end
      turns.times { fibers.each(&:resume) }
    end
    count(:sessions)
    dropped, captured = profile.stats.values_at(:dropped_in_switch, :captured)
    wrong("ticks that were dropped between fibers", "#{dropped}, and #{captured} captured") if dropped > 20 && dropped > captured / 4
    wrong_turns(profile.samples.map { |sample| [sample.frames.map(&:name).join[/Stress\.(first|second)/, 1], sample.labels["turn"], sample.cpu] })
  end

  def self.wrong_turns(turns)
    known = turns.select(&:first)
    count(:turns, known.size)
    others = known.reject { |name, label, _cpu| name == label || label.nil? }
    wrong("a turn with the labels of the other", others.first.inspect) if others.any?
    total = known.sum(&:last)
    lost = known.select { |_name, label, _cpu| label.nil? }.sum(&:last)
    wrong("turns that lost their labels", "#{lost} of #{total} ns") if known.size >= 4 && lost > total / 2
  end

  # The first label of the process, during a session of the main Ractor.
  check_turns(1_000, before: -> { label_in_ractor }) if PROFILED

  worker("ractors") do
    label_in_ractor
    sleep(0.01)
  end
  worker("labelled fibers beside ractors") do
    PROFILED ? check_turns(40) : sleep(0.1)
  end
end
