# frozen_string_literal: true

# What sampling of memory costs, in instructions: each workload once without a session and once with mode: :native, counted by
# callgrind. Instructions do not depend on what else runs on the machine.
#
#   ruby -Ilib bench/native.rb          needs valgrind and a C compiler
require "open3"
require "tmpdir"
require_relative "../spec/support/c_extension"

WORKLOADS = {
  # 100,000 pairs of malloc and free.
  "pairs of 64 B" => [100_000, "Leaky.pairs(100_000, 64)"],
  "pairs of 4 KiB" => [100_000, "Leaky.pairs(100_000, 4_096)"],
  "JSON" => [nil, "20.times { JSON.parse(JSON.generate(DOCUMENT)) }"],
  "strings and arrays" => [nil, "200.times { |it| (\"x\" * 200 + it.to_s).split(\"x\").map(&:to_s).join(\",\").sub(\"1\", \"2\") ; Array.new(100) { \"y\" * 60 } }"]
}.freeze
RATES = [65_536, 524_288].freeze

PROGRAM = <<~'RUBY'
  require "json"
  require "leaky"
  require "profiler"
  DOCUMENT = { "orders" => Array.new(50) { |it| { "id" => it, "name" => "order #{it}" * 10, "lines" => Array.new(5) { { "price" => it * 1.5, "text" => "line " * 5 } } } } }
  GC.disable
  every, times, code = Integer(ARGV[0]), Integer(ARGV[1]), ARGV[2]
  work = eval("proc { #{code} }")
  session = Profiler.start(mode: :native, every_bytes: every) if every.positive?
  times.times(&work)
  session&.discard
RUBY

# Returns the number of instructions of the program.
def instructions(every, times, code)
  Dir.mktmpdir do |directory|
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=#{directory}/out", RbConfig.ruby, *CExtension.options("memory/leaky"),
               *$LOAD_PATH.grep(/lib\z/).map { |path| "-I#{path}" }, "-e", PROGRAM, every.to_s, times.to_s, code]
    out, status = Open3.capture2e({ "RUBYOPT" => nil }, *command)
    raise out unless status.success?

    Integer(out[/Collected : (\d+)/, 1])
  end
end

# Returns the instructions of one run of the workload: the difference of two programs, so that their start does not count.
def of_one(every, code) = instructions(every, 3, code) - instructions(every, 2, code)

WORKLOADS.each do |name, (pairs, code)|
  off = of_one(0, code)
  puts format("%-20s off      %12d", name, off)
  RATES.each do |every|
    on = of_one(every, code)
    each = format(", %.1f instructions a pair", (on - off) / pairs.to_f) if pairs
    puts format("%-20s %7d  %12d  %+.2f %%%s", "", every, on, (on - off) * 100.0 / off, each)
  end
end
