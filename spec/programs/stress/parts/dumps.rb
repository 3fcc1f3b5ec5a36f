# frozen_string_literal: true

require "objspace"
require "tempfile"

# Heap dumps, and questions what objects refer to: they call our mark functions outside of any collection, with code that writes
# files and lets other threads run. Beside them code comes and goes, threads allocate, and sessions begin and end.
module Stress
  worker("dumps") do
    Tempfile.create { |file| ObjectSpace.dump_all(output: file) }
    count(:dumps)
    sleep(0.05)
  end
  worker("questions") do
    ObjectSpace.each_object(Module).first(200).each { |object| ObjectSpace.reachable_objects_from(object) && step }
    ObjectSpace.memsize_of_all(Proc)
    count(:questions)
  end
  worker("code that comes and goes") do
    number = rand(1_000)
    eval("def self.new_#{number} = Array.new(50) { Object.new }; new_#{number}; singleton_class.remove_method(:new_#{number})", binding, "new_#{number}.rb")
    count(:evals)
  end
  worker("allocations") { work(500) }
  2.times do |number|
    worker("sessions #{number} beside dumps") do
      next sleep(0.1) unless PROFILED

      Profiler.run(**view) { work(200) && sleep(rand * 0.02) }
      count(:sessions)
    end
  end
end
