# frozen_string_literal: true

# A program whose names would change the writing direction; its profile goes to the given files.
#
#   ruby -Ilib viewer/test/programs/hostile.rb profile.pb.gz profile.html
require "profiler"

TURN = "\u202E"
HIDE = "\u2066\u061C\u200F"

Shop = Class.new { define_method("pay#{TURN}") { Array.new(20_000) { |number| number.to_s }.sort.size } }
Kernel.const_get(:Shop).class_eval { def self.work(shop) = shop.public_send("pay#{TURN}") }

Process.setproctitle("shop#{TURN}")
profile = Profiler.run(mode: %i[cpu wall allocations], interval: 500, timeline: true, metadata: { "re#{HIDE}gion#{TURN}" => "eu#{TURN}1" }) do
  thread = Thread.new do
    Thread.current.name = "worker#{TURN}"
    shop = Shop.new
    20.times do |number|
      Profiler.label("ten#{HIDE}ant": "a#{TURN}b#{number % 2}") { Profiler.marker("GET #{TURN}/pay") { Shop.work(shop) } }
    end
  end
  thread.join
end
ARGV.each { |path| profile.save(path) }
