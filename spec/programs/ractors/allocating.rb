# frozen_string_literal: true

# Ractors that allocate and collect garbage while the main one works. Needs the helpers.
require "tmpdir"

class Own; end
class Other; end
def work = 30_000.times { Own.new }

# The result of the block, while four Ractors allocate and collect garbage; then the number of objects that they have allocated.
def beside_ractors
  Dir.mktmpdir do |box|
    stop = "#{box}/stop".freeze
    ractors = Array.new(4) do
      Ractor.new(stop) do |file|
        made = 0
        (1_000.times { Other.new }; GC.start if ((made += 1_000) % 50_000).zero?) until File.exist?(file)
        made
      end
    end
    result = yield
    File.write(stop, "")
    [result, ractors.sum(&:value)]
  end
end
