# frozen_string_literal: true

# Attaches to processes again and again, under each kind of load, and kills attachers at random instants.
#
#   ruby -Ilib spec/programs/attach/run.rb KINDS...      (such as timed+io; by default a list of them)
#
# ATTACH_ROUNDS=50 for each kind, ATTACH_KILLS=20, SEED=42. Prints a line for each kind, and fails if a target saw anything wrong.

require "json"
require "rbconfig"
require "profiler"
require "profiler/attach"

module AttachStress
  KINDS = %w[sleep busy timed io zlib timed+processes gc finalizers compact timed+gc_stress loading threads deep timed+busy+zlib+processes+gc].freeze
  TARGET = File.expand_path("target.rb", __dir__)
  ROUNDS = Integer(ENV.fetch("ATTACH_ROUNDS", "50"))
  KILLS = Integer(ENV.fetch("ATTACH_KILLS", "20"))
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  RANDOM = Random.new(SEED)

  # What happened to the targets of one kind.
  class Kind
    def initialize(name)
      @name = name
      @answers = []
      @stops = []
      @refused = []
      @killed = 0
    end

    # @return [Boolean] whether all was well
    def run
      @target = IO.popen([{ "PROFILER_CONTROL" => nil }, RbConfig.ruby, TARGET, *@name.split("+"), { err: %i[child out] }], "r+")
      @target.gets
      ROUNDS.times { round }
      KILLS.times { kill }
      @target.close_write
      out = @target.read
      @target.close
      good = $?.success? && @answers.size == ROUNDS
      puts "#{good ? "OK" : "BAD"} #{@name} #{JSON.generate(numbers)}", (out unless good)
      $stdout.flush
      good
    end

    private

    def pid = @target.pid

    def round
      joined = Profiler::Attach.join(pid, patience: 60)
      @answers << joined.seconds
      @stops.concat(joined.stops)
      leave
    rescue Profiler::Error => e
      @refused << e.message
    end

    def leave
      client = Profiler::Control::Client.of(pid.to_s)
      client.ask(do: "who")
      client.ask(do: "detach")
      path = client.path
      client.close
      sleep 0.002 while File.socket?(path)
    end

    # The attacher dies at a random instant. If it was attached by then, it is detached again.
    def kill
      attacher = fork do
        $stderr.reopen(File::NULL)
        Profiler::Attach.join(pid, patience: 60)
        exit!(0)
      end
      sleep RANDOM.rand * 0.03
      Process.kill(:KILL, attacher)
      Process.wait(attacher)
      @killed += 1
      settle
    end

    # A request of an attacher that was killed is done, or forgotten after its deadline.
    def settle
      sleep 0.3
      leave
    rescue Profiler::Error
      nil # it was not attached
    end

    def numbers
      { rounds: @answers.size, asked: @stops.size, killed: @killed, refused: @refused.tally,
        answer_ms: percentiles(@answers.drop(1).map { |seconds| seconds * 1e3 }), stop_ms: percentiles(@stops.map { |ns| ns / 1e6 }) }
    end

    def percentiles(values)
      sorted = values.sort
      [0.5, 0.99, 1.0].map { |share| sorted[[(sorted.size * share).ceil - 1, 0].max]&.round(3) }
    end
  end

  def self.main(kinds)
    puts "Ruby #{RUBY_VERSION}, seed #{SEED}: answer and stop are p50, p99 and the longest"
    bad = kinds.reject { |name| Kind.new(name).run }
    abort "FAILED #{bad.join(", ")}" if bad.any?
  end
end

AttachStress.main(ARGV.empty? ? AttachStress::KINDS : ARGV) if $PROGRAM_NAME == __FILE__
