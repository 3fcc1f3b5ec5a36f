# frozen_string_literal: true

# Serves a quick client beside a hundred slow ones. Prints how long the quick one and the app waited, and what the slow ones got.
require_relative "../helpers"
require_relative "listener"

port = listen.address
slow = Array.new(100) { connect(port).tap { |it| it.write("GET /debug") } }
drip = Thread.new { loop { slow.each { |it| it.write("x") rescue nil }; sleep 0.5 } }
began = now
quick = Array.new(10) { status(get(port, "/metrics")) }
took = (now - began) / 1e9
late = Array.new(50) { before = now; sleep 0.01; (now - before) / 1e6 - 10 }.sort[40]
threads = own_threads
answers = slow.map { |it| status(it.read) rescue "reset" }
drip.kill
# Clients that send a whole request, and read nothing.
deaf = Array.new(30) { connect(port).tap { |it| it.write(head("/debug/pprof/threads", "Authorization: Bearer #{TOKEN}")) } }
last = status(get(port, "/metrics"))
deaf.each(&:close)
wait_for { own_threads == 1 }
print_json(quick: quick, took: took, late: late, threads: threads, answers: answers.uniq, last: last, left: [own_threads, sessions],
           took_all: (now - began) / 1e9)
