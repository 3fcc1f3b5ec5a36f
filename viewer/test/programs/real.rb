# frozen_string_literal: true

# Records a program of others as its users would, while it works:
#
#   ruby viewer/test/programs/real.rb rdoc|rails|sidekiq OUT...
require "fileutils"
require "net/http"
require "socket"
require "tmpdir"

ROOT = File.expand_path("../../..", __dir__)
RUBY = Gem.ruby
RECORD = [RUBY, "-I#{ROOT}/lib", "#{ROOT}/exe/profiler", "record", "--mode", "cpu,wall,allocations", "--timeline"].freeze
PATIENCE = 60 # seconds

def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

def wait_until
  till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
  until yield
    abort "real.rb: it did not come to that within #{PATIENCE} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > till
    sleep 0.05
  end
end

# Runs a command while the block does, if there is one, and ends it then by the signal.
def beside(env, *command, log:, signal: :TERM)
  pid = spawn({ "RUBYOPT" => "-W0" }.merge(env), *command, %i[out err] => [log, "a"])
  yield if block_given?
ensure
  Process.kill(signal, pid) if block_given? && $!.nil?
  Process.kill(:KILL, pid) if $!
  Process.wait(pid)
end

def record(outs, env, *command, log:, &block)
  beside(env, *RECORD, *outs.flat_map { |it| ["--out", it] }, "--", *command, log: log, &block)
  abort "real.rb: no profile came of it\n#{File.read(log)}" unless outs.all? { |it| File.size?(it) }
end

def get(port, path) = Net::HTTP.start("127.0.0.1", port, read_timeout: PATIENCE) { |http| http.get(path) }

def rdoc(outs, box)
  library = RbConfig::CONFIG["rubylibdir"]
  record(outs, {}, RUBY, "-S", "rdoc", "--quiet", "--output", "#{box}/html", "#{library}/net", "#{library}/uri", log: "#{box}/log")
end

def rails(outs, box)
  port = free_port
  record(outs, { "BOX" => box }, RUBY, "-S", "puma", "-q", "-t", "4:4", "-b", "tcp://127.0.0.1:#{port}", "#{__dir__}/rails.ru", log: "#{box}/log") do
    wait_until { get(port, "/orders").is_a?(Net::HTTPOK) rescue false }
    Array.new(4) { |number| Thread.new { 10.times { get(port, number.zero? ? "/orders" : "/orders/1") } } }.each(&:join)
  end
end

def sidekiq(outs, box)
  port = free_port
  jobs = "#{ROOT}/spec/integrations/sidekiq/jobs.rb"
  env = { "REDIS_URL" => "redis://127.0.0.1:#{port}/0", "OUT" => "#{box}/out" }
  beside({}, "redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--dir", box, log: "#{box}/redis.log") do
    wait_until { TCPSocket.new("127.0.0.1", port).close || true rescue false }
    record(outs, env, RUBY, "-S", "sidekiq", "-r", jobs, "-c", "4", log: "#{box}/log") do
      push = 'require ARGV[0]; 20.times { ImportJob.perform_async("quick") }; %w[one slow].each { |it| ImportJob.perform_async(it) }'
      system(env.merge("RUBYOPT" => "-W0"), RUBY, "-I#{ROOT}/lib", "-e", push, jobs, exception: true)
      wait_until { %w[one slow quick].all? { |it| File.exist?("#{box}/out.#{it}.done") } }
    end
  end
end

name, *outs = ARGV
abort "real.rb: #{name.inspect} is not a program (allowed: rdoc, rails, sidekiq)" unless %w[rdoc rails sidekiq].include?(name) && outs.any?
Dir.mktmpdir("real") { |box| send(name, outs.map { |it| File.expand_path(it) }, box) }
