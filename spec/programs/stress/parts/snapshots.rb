# frozen_string_literal: true

require "fiddle"
require "openssl"
require "socket"

# Ledgers of memory with owners each second, rows of memory and questions why objects are alive, beside threads that allocate in C and
# Ruby, fork, compact, collect, load and unload libraries, resolve names and make keys.
module Stress
  LIBRARY = Dir["/usr/lib/*/libz.so.1", "/lib/*/libz.so.1"].first
  # Bytes that may seem lost while threads change malloc's arenas: those in pieces that were not walked, and a part of all.
  LOST = 4 << 20

  # Returns the ledger; nil if it is refused for a reason that may occur here.
  def self.ledger(**options)
    Profiler.memory(force: true, **options)
  rescue Profiler::Error => e
    e.message.match?(/another thread collected garbage/) ? count(:refused) : wrong("a ledger", e.message)
    nil
  end

  worker("ledgers") do
    next sleep(0.1) unless PROFILED

    if (ledger = ledger(owners: true))
      count(:ledgers)
      kinds = ledger.kinds
      wrong("lost blocks", ledger.to_json) if kinds.fetch(:unreferenced, 0) > LOST + (kinds.fetch(:not_walked, 0) * 10)
      difference = (kinds.values.sum - ledger.rss).abs
      wrong("a sum", "#{kinds} of #{ledger.rss}") if difference > (ledger.rss * 0.15) + (4 << 20)
    end
    20.times { step && sleep(0.05) }
  end
  worker("questions of life") do
    next sleep(0.1) unless PROFILED

    count(:questions_of_life) if ledger(why: %w[String Class *].sample)
    40.times { step && sleep(0.05) }
  end
  worker("rows of memory") do
    next sleep(0.1) unless PROFILED

    row = Profiler::Ledger.rows("[#{Profiler.const_get(:Native).memory_row}]").first
    count(:rows)
    sum = row.fetch(:kinds).values.sum
    wrong("a row", row.to_s) unless (sum - row.fetch(:rss)).abs < (row.fetch(:rss) * 0.2) + (8 << 20)
    sleep(0.1)
  end
  2.times do |number|
    worker("blocks of malloc #{number}") do
      kept = Array.new(200) { "x" * rand(10_000) }
      kept.each_slice(2) { |one, _| one.replace("") }
      step
    end
  end
  worker("objects") { work(300) }
  worker("libraries") do
    next sleep(1) unless LIBRARY

    Fiddle::Handle.new(LIBRARY, Fiddle::RTLD_NOW).close
    count(:libraries)
    sleep(0.01)
  end
  worker("names of hosts") do
    Addrinfo.getaddrinfo("localhost", 80)
    count(:lookups)
    sleep(0.01)
  end
  worker("keys") do
    OpenSSL::PKey::EC.generate("prime256v1")
    OpenSSL::X509::Store.new
    count(:keys)
    sleep(0.01)
  end
  worker("forks") do
    pid = fork { exit!(PROFILED && rand < 0.2 && !Profiler.memory.rss.positive? ? 1 : 0) }
    wrong("a child", $?.inspect) unless Process.wait(pid) && $?.success?
    count(:forks)
    sleep(0.1)
  end
  worker("collections") do
    rand < 0.2 && GC.respond_to?(:compact) ? GC.compact : GC.start(full_mark: rand < 0.5)
    count(:collections)
    sleep(0.05)
  end
end
