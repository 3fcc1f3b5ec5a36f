# frozen_string_literal: true

# A program that holds memory from malloc and loses some; its profile goes to the given files.
#
#   ruby -Ilib viewer/test/programs/malloc.rb profile.pb.gz profile.html
require "fiddle"
require "profiler"

STRDUP = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strdup"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
TEXT = "t" * 4_000

def lose = 2_000.times { STRDUP.call(TEXT) && nil }
def keep = KEPT.concat(Array.new(2_000) { "k" * 5_000 })

KEPT = []
profile = Profiler.run(mode: :native, owners: true) { Thread.new { lose && keep }.join }
ARGV.each { |path| profile.save(path) }
