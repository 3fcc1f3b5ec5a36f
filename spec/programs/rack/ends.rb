# frozen_string_literal: true

# Ends requests by their body, their stream or their connection. Prints what each profile has.
require_relative "../helpers"
require_relative "stack"

parts = Class.new { def each = (Shop.send_part; yield "x") }
body = get(stack { Shop.serve; [200, {}, parts.new] })[2]
body.each { |it| it }
body.close
all = [found]
stream = Class.new { def call(stream) = Thread.new { stream.tap { sleep 0.2 }.close }.tap { Shop.send_part } }
io = StringIO.new
get(stack { Shop.serve; [200, {}, stream.new] })[2].call(io)
sleep 0.01 until io.closed?
sleep 0.01 until RESULTS.any?
all << found
io = StringIO.new
hijack = ->(given) { Shop.send_part; Thread.new { sleep 0.05; given.close } }
get(stack { Shop.serve; [200, { "rack.hijack" => hijack }, []] })[1]["rack.hijack"].call(io)
sleep 0.01 until RESULTS.any?
all << found
io = StringIO.new
get(stack { |env| Shop.serve; env["rack.hijack"].call.then { |it| Shop.send_part; it.close }; [-1, {}, []] }, "rack.hijack": -> { io })
print_json(found: all << found, open: open_sessions)
