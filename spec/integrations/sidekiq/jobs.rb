# frozen_string_literal: true

# Loaded by Sidekiq's own command in sidekiq_spec.rb.
$LOAD_PATH.unshift(File.expand_path("../../../lib", __dir__))
require "sidekiq"
require "profiler/sidekiq"

# Does with a job's option "profile" what Sidekiq itself does from version 8 on where Vernier is not installed.
class Eight
  def call(_worker, job, _queue)
    raise LoadError, "cannot load such file -- vernier" if job["profile"]

    yield
  end
end

REDIS = { url: ENV.fetch("REDIS_URL") }.freeze
Sidekiq.configure_client { |config| config.redis = REDIS }
Sidekiq.configure_server do |config|
  config.redis = REDIS
  config.server_middleware do |chain|
    profiles = ENV.key?("PROFILES")
    chain.add Eight if Sidekiq::VERSION.to_i < 8 && !profiles
    chain.add Profiler::Sidekiq.with(out: ENV.fetch("OUT"), slower_than: 0.8, interval: 1_000, permit: ->(job) { job["args"] != ["may not"] },
                                     profiles: profiles)
  end
end

# A method for each job, so that a stack identifies it.
class Work
  def self.one = burn(40)
  def self.two = burn(40)
  def self.slow = burn(1_000)
  def self.quick = burn(5)

  def self.burn(milliseconds)
    till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) + milliseconds
    10.times { |number| number + 1 } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) < till
  end
end

class ImportJob
  include Sidekiq::Worker
  sidekiq_options retry: false

  def perform(what)
    Work.public_send(Work.respond_to?(what) ? what : :quick)
    raise "on purpose" if what == "two"

    File.write("#{ENV.fetch("OUT")}.#{what}.done", "")
  end
end
