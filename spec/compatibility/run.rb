# frozen_string_literal: true

# Runs suites that others wrote, plain and with us, and says which tests end otherwise with us.
#
#   ruby spec/compatibility/run.rb ruby [--files "ruby/test_a*.rb"] [--ways plain,time,objects,native,labels] [--jobs 2]
#   ruby spec/compatibility/run.rb rack puma ...
#
# rakelib/ruby_tests.rake runs it on each Ruby. What it fetches and prints is in tmp/compatibility.

require "optparse"
require_relative "differences"
require_relative "comparison"
require_relative "ruby_suite"
require_relative "suites"

module Compatibility
  HOME = File.expand_path("../../tmp/compatibility", __dir__)

  # Runs a suite on this Ruby: its items side by side, with a table of results.
  class Run
    Tally = Struct.new(:tests, :profiles, :differ, :known, keyword_init: true)

    def initialize(suite, items, ways:, jobs:)
      @suite = suite
      @items = items
      @ways = ways
      @jobs = jobs
      @lock = Mutex.new
      @tallies = ways.to_h { |way| [way.name, Tally.new(tests: 0, profiles: 0, differ: [], known: [])] }
      @forgiven = Hash.new { |hash, kind| hash[kind] = [] }
      @problems = []
      @tried = 0
    end

    # @return [Boolean] whether all that differs is known
    def call
      queue = Queue.new
      @items.each { |item| queue << item }
      queue.close
      trap(:INT) { Thread.new { queue.clear } } # what runs comes to its end, and the table is of what ran
      Array.new(@jobs) { Thread.new { work(queue) } }.each(&:join)
      @problems << "#{@suite}: no test ran" if @tallies.fetch("plain").tests.zero?
      report
      @problems.empty? && @tallies.values.all? { |tally| tally.differ.empty? }
    end

    private

    def work(queue)
      while (item = queue.pop)
        try(item)
      end
    end

    def try(item)
      @tried += 1
      plain = trial(item, PLAIN).run
      say("#{item.name}: no test ran") if plain.tests.one?
      count(PLAIN, plain)
      line = [item.name, plain.tests.size - 1]
      line << plain.ended unless plain.ended == "ended"
      @ways.reject { |way| way == PLAIN }.each { |way| compare(item, way, plain, line) }
      say(line.join("  "))
    rescue StandardError => e
      problem("#{item.name}: #{e.class}: #{e.message}")
    end

    def compare(item, way, plain, line)
      ours = trial(item, way).run
      count(way, ours)
      ours.messages.map { |message| message.gsub(/\d+/, "N") }.tally.each { |message, times| say("#{item.name} #{way.name} said #{times} times: #{message}") }
      problem("#{item.name}: no profile of the process in #{way.name}") if way.profiled? && ours.ended == "ended" && !ours.main
      verdicts = Comparison.new(item) { |built, its| trial(built, its) }.verdicts(way, plain, ours)
      verdicts.each { |verdict| note(way, verdict) }
      line.concat(verdicts.map(&:kind).tally.map { |kind, times| "#{way.name}: #{kind} #{times}" })
    end

    def note(way, verdict)
      reason = Compatibility.reason(@suite, verdict.test, way.name)
      @lock.synchronize do
        next @forgiven[verdict.kind] << verdict unless verdict.kind == :differs

        reason ? @tallies[way.name].known << [verdict, reason] : @tallies[way.name].differ << verdict
      end
      say("#{"known: #{reason}: " if reason}#{verdict}")
    end

    def trial(item, way)
      Trial.new(item, way, logs: File.join(HOME, "logs", @suite))
    end

    def count(way, outcome)
      @lock.synchronize do
        @tallies[way.name].tests += outcome.tests.size - 1
        @tallies[way.name].profiles += outcome.profiles
      end
    end

    def problem(text)
      @lock.synchronize { @problems << text }
      say(text)
    end

    def say(text)
      @lock.synchronize { $stdout.puts(text) }
      $stdout.flush
    end

    def report
      puts "", "#{@suite} on Ruby #{RUBY_VERSION}: #{@tried} of #{@items.size} files", format("%-10s %8s %9s %8s %8s", "way", "tests", "profiles", "differ", "known")
      @tallies.each do |name, tally|
        puts format("%-10s %8d %9d %8d %8d", name, tally.tests, tally.profiles, tally.differ.size, tally.known.size)
      end
      { flaky: "end as they like without us", once: "differed once and not again", rubyopt: "differ for RUBYOPT alone" }.each do |kind, what|
        tests = @forgiven[kind].map { |verdict| "#{verdict.item} #{verdict.test}" }.uniq
        puts "#{tests.size} #{what}#{": #{tests.join(", ")}" if tests.any?}"
      end
      @tallies.each_value { |tally| tally.known.each { |verdict, reason| puts "known: #{verdict.way} #{verdict.test}: #{reason}" } }
      @tallies.each_value { |tally| puts tally.differ }
      puts @problems
    end
  end
end

files = "**/*.rb"
ways = Compatibility::WAYS.values
jobs = 2
OptionParser.new do |o|
  o.banner = "usage: ruby spec/compatibility/run.rb SUITE... [options]"
  o.on("--files PATTERN", "files of the suite") { |pattern| files = pattern }
  o.on("--ways WAYS", Array, Compatibility::WAYS.keys.join(",")) do |names|
    unknown = names - Compatibility::WAYS.keys
    abort "no way #{unknown.join(", ")}; there are #{Compatibility::WAYS.keys.join(", ")}" if unknown.any?
    ways = Compatibility::WAYS.values_at("plain", *names).uniq
  end
  o.on("--jobs N", Integer, "files at a time (2)") { |number| jobs = number }
end.parse!
names = ARGV.empty? ? ["ruby"] : ARGV

good = names.map do |name|
  version, items = Compatibility.items(name, File.join(Compatibility::HOME, "sources"), files)
  abort "#{name}: no file is like #{files}" if items.empty?
  puts "#{name}: #{version}, #{items.size} files"
  Compatibility::Run.new(name, items, ways: ways, jobs: jobs).call
rescue Compatibility::Debian::Missing => e
  puts "#{name}: #{e.message}"
  false
end
exit good.all?
