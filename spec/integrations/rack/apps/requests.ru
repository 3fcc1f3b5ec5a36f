# frozen_string_literal: true

# An app whose requests keep account of their own time, for spec/integrations/rack/puma_spec.rb. Writes what each profile says, beside what
# the request's own clocks say, to OUT.
$LOAD_PATH.unshift(File.expand_path("../../../../lib", __dir__))
require "json"
require "profiler"

CLOCKS = [Process::CLOCK_THREAD_CPUTIME_ID, Process::CLOCK_MONOTONIC].freeze

# Adds up what blocks take on this thread, by name.
module Account
  def self.of(name)
    before = CLOCKS.map { |it| Process.clock_gettime(it, :nanosecond) }
    yield
  ensure
    sums = (Thread.current[name] ||= [0, 0])
    CLOCKS.each_with_index { |it, place| sums[place] += Process.clock_gettime(it, :nanosecond) - before[place] }
  end
end

# The clocks just around what is profiled.
module Around
  def inside(&block) = Account.of(:around) { super(&block) }
end
Profiler::Middleware.name # which loads them
Profiler.const_get(:Recording).prepend(Around)

# A method for each request, so that a stack identifies it.
class Shop
  100.times { |number| class_eval("def self.request_#{number} = serve", __FILE__, __LINE__) }

  def self.serve
    4.times do
      burn(3)
      sleep 0.004
    end
  end

  def self.burn(milliseconds)
    till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) + milliseconds
    20.times { |it| it.to_s } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) < till
  end
end

# A body that works while it is sent, and when it is closed.
Parts = Struct.new(:number) do
  def each
    3.times do
      Account.of(:within) { Shop.public_send(:"request_#{number}") }
      yield "part\n"
    end
  end

  def close = Account.of(:within) { Shop.public_send(:"request_#{number}") }
end

out = lambda do |result|
  rows = result.profile.samples
  within, around = %i[within around].map { |name| Thread.current[name] }
  # From Ruby 3.3 on there are rows that say who had the GVL while this request waited for it: others' stacks, with no time of their own.
  others, own = rows.partition { |it| it.labels.key?("waiter") }
  requests = ->(them) { them.flat_map { |it| it.frames.map(&:name) }.grep(/request_\d+/).uniq }
  text = JSON.generate(labels: result.labels, names: requests.call(own), blamed: others.all? { |it| (it.cpu + it.wall).zero? }, within: within, around: around,
                       profile: [rows.sum(&:cpu), rows.sum(&:wall)], seconds: result.seconds, pid: Process.pid,
                       over: Process.clock_gettime(Process::CLOCK_MONOTONIC))
  file = File.join(ENV.fetch("OUT"), "#{result.id}.json")
  File.write("#{file}.tmp", text)
  File.rename("#{file}.tmp", file)
end

use Profiler::Middleware, permit: ->(_env) { true }, mode: %i[cpu wall], concurrency: 8, out: out

# All that are profiled are so at once.
barrier = lambda do
  directory = ENV.fetch("BARRIER")
  File.write(File.join(directory, "#{Process.pid}.#{Thread.current.object_id}"), "")
  sleep 0.01 until Dir.children(directory).size >= Integer(ENV.fetch("AT_ONCE"))
end

run(lambda do |env|
  number = Integer(env["PATH_INFO"][/\d+/] || 0)
  %i[within around].each { |name| Thread.current[name] = nil }
  case env["PATH_INFO"]
  when "/ready" then [200, {}, ["ready"]]
  when %r{\A/request} then Account.of(:within) do
    barrier.call if env["HTTP_X_PROFILE"] && ENV["AT_ONCE"]
    Shop.public_send(:"request_#{number}")
  end && [200, { "content-type" => "text/plain" }, ["done #{number}"]]
  when %r{\A/parts} then [200, { "content-type" => "text/plain" }, Parts.new(number)]
  when %r{\A/hijack}
    [200, { "content-type" => "text/plain", "rack.hijack" => lambda do |io|
      io.write("taken")
      Account.of(:within) { Shop.public_send(:"request_#{number}") }
      io.close
    end }, []]
  when %r{\A/fully}
    io = env["rack.hijack"].call
    io.write("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nfully")
    Account.of(:within) { Shop.public_send(:"request_#{number}") }
    io.close
    [-1, {}, []]
  when "/raises" then raise "on purpose"
  else [404, {}, ["nothing here"]]
  end
end)
