# frozen_string_literal: true

# Dumps the heap, and asks all objects what they refer to, in a session of objects. It prints one line if it gets to its end.
require_relative "../helpers"
require "objspace"
require "tempfile"

GC.disable # so that no handle is old, and each is among what we refer to
session = Profiler.start(mode: :allocations, every: 1)
5_000.times { |number| eval("def new_#{number} = Object.new; new_#{number}") }
sleep 0.3 # until they are in the tables
# Writing the file runs jobs, and lets others run, in the middle of asking what each object refers to.
dump = -> { Tempfile.create { |file| ObjectSpace.dump_all(output: file) } }
dump.call
Thread.new { loop { 200.times { "x" * 10 }; sleep 0.0005 } }
dump.call
ObjectSpace.each_object(Module) { |it| ObjectSpace.reachable_objects_from(it) }
ObjectSpace.reachable_objects_from_root
ObjectSpace.memsize_of_all
session.stop
puts "dumped"
