# frozen_string_literal: true

# Attaches to processes that are killed meanwhile, and to processes that have only just started.
#
#   ruby -Ilib spec/programs/attach/short_lives.rb
#
# ATTACH_TARGETS=20 processes of each kind, SEED=42. An attacher has to end by itself, with a sentence or with success; a young
# process has to go on, and to end well. Prints a line for each kind, and fails if anything was wrong.

require "json"
require "rbconfig"
require "profiler"
require "profiler/attach"

module AttachStress
  # Processes that are started together, since each has to be two seconds old.
  class ShortLives
    TOGETHER = 20
    COUNT = Integer(ENV.fetch("ATTACH_TARGETS", "20"))
    # What they do: one waits, and one computes.
    PROGRAMS = ["sleep", "loop { 100.times { |number| number.to_s } }"].freeze
    # The seconds for which an attacher may run on after its process was killed.
    PATIENCE = 30

    def initialize(seed)
      @random = Random.new(seed)
      @wrong = []
    end

    # @return [Boolean] whether all was well
    def run
      [killed, young].all?
    end

    private

    # Kills the process at a random instant.
    def killed
      endings = in_batches do |number|
        pid = start(PROGRAMS[number % PROGRAMS.size])
        lambda do
          attacher = attacher_of(pid)
          sleep @random.rand * 0.25
          Process.kill(:KILL, pid)
          Process.wait(pid)
          remove_socket(pid)
          ending(attacher)
        end
      end
      say("killed", endings.tally)
    end

    # Attaches at once, and a little later, and lets the process run to its end.
    def young
      endings = in_batches do |_number|
        reader, writer = IO.pipe
        pid = spawn({ "PROFILER_CONTROL" => nil }, RbConfig.ruby, "-e", "sleep 0.01 until $stdin.read_nonblock(1, exception: false).nil?; exit!(7)", in: reader)
        reader.close
        sleep @random.rand * 0.05
        attacher = attacher_of(pid)
        lambda do
          attached = ending(attacher)
          writer.close
          code = Process.wait2(pid).last.exitstatus
          remove_socket(pid)
          @wrong << "a young process ended with #{code.inspect}" unless code == 7
          attached
        end
      end
      @wrong << "no young process was attached to" unless endings.include?("attached")
      say("young", endings.tally)
    end

    # Starts processes, waits until they are old enough, and finishes one after another.
    def in_batches(&block)
      COUNT.times.each_slice(TOGETHER).flat_map do |numbers|
        rest = numbers.map(&block)
        sleep 2.1
        rest.map(&:call)
      end
    end

    def start(code) = spawn({ "PROFILER_CONTROL" => nil }, RbConfig.ruby, "-e", code)

    def attacher_of(pid)
      fork do
        $stderr.reopen(File::NULL)
        Profiler::Attach.join(pid, patience: 20)
        exit!(0)
      rescue Profiler::Error
        exit!(1)
      rescue Exception # rubocop:disable Lint/RescueException -- that is what is looked for
        exit!(2)
      end
    end

    # How the attacher ended.
    def ending(attacher)
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
      status = nil
      sleep 0.002 until (status = Process.wait2(attacher, Process::WNOHANG)&.last) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > till
      unless status
        Process.kill(:KILL, attacher)
        Process.wait(attacher)
      end
      known = { 0 => "attached", 1 => "refused" }[status&.exitstatus]
      @wrong << "an attacher #{status ? "ended with #{status}" : "did not end"}" unless known
      known || "wrong"
    end

    def remove_socket(pid)
      path = "/tmp/profiler-#{Process.euid}/#{pid}.sock"
      File.unlink(path) if File.exist?(path)
    end

    def say(kind, tally)
      puts "#{@wrong.empty? ? "OK" : "BAD"} #{kind} #{JSON.generate(tally)}", @wrong.first(5)
      $stdout.flush
      @wrong.empty?
    ensure
      @wrong.clear
    end
  end
end

if $PROGRAM_NAME == __FILE__
  seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  puts "Ruby #{RUBY_VERSION}, seed #{seed}"
  exit AttachStress::ShortLives.new(seed).run
end
