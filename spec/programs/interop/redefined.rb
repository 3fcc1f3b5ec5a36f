# frozen_string_literal: true

# Calls each method that has a hook, after the steps of the command line: start, autoload, wrap, prepend, stub. Prints a line
# with the result for each, and on stderr a line for each time that the app's own code ran.
#
#   ruby -Ilib spec/programs/interop/redefined.rb wrap start

Warning[:experimental] = false # Ractors are, on every use

OWN_CODE = ->(owner, name) { STDERR.syswrite("#{owner}.#{name}\n") } # from children too
EXEC = ->(owner) { owner.send(:exec, "/no/such/program") rescue $!.class }
TRAP = ->(owner) { Array.new(2) { owner.send(:trap, :USR1, "IGNORE") } }
STATUS = ->(&block) { Process.wait2(fork(&block)).last.exitstatus }
RESULT = ->(ractor) { ractor.respond_to?(:value) ? ractor.value : ractor.take }

CALLS = {
  [Kernel, :trap] => -> { TRAP.call(self) },
  [Kernel.singleton_class, :trap] => -> { TRAP.call(Kernel) },
  [Signal.singleton_class, :trap] => -> { TRAP.call(Signal) },
  [Kernel, :exec] => -> { EXEC.call(self) },
  [Kernel.singleton_class, :exec] => -> { EXEC.call(Kernel) },
  [Process.singleton_class, :exec] => -> { EXEC.call(Process) },
  [Kernel.singleton_class, :method_added] => -> { Kernel.module_eval { def added_here = 1; undef added_here } },
  [Ractor.singleton_class, :new] => -> { RESULT.call(Ractor.new(7) { |built| built + 1 }) },
  [IO.singleton_class, :popen] => -> { [IO.popen("echo 1", &:read), File.popen({ "A" => "2" }, "echo $A", err: :out).read] },
  [Kernel, :exit!] => -> { STATUS.call { exit!(3) } },
  [Kernel.singleton_class, :exit!] => -> { STATUS.call { Kernel.exit!(3) } },
  [Process.singleton_class, :exit!] => -> { STATUS.call { Process.exit!(3) } },
  [Process.singleton_class, :daemon] => -> { STATUS.call { Process.daemon(true); Process.kill(:KILL, Process.pid) } }
}.freeze

# A block for each owner and name, with the visibility that its methods must have.
EACH = lambda do |&block|
  CALLS.each_key { |owner, name| block.call(owner, name, owner.private_method_defined?(name) ? :private : :public) }
end

STEPS = {
  "start" => lambda do
    require "profiler"
    %i[cpu allocations].each { |mode| Profiler.run(mode: mode) { 1 } }
  end,
  "autoload" => -> { require "profiler/autoload" },
  "wrap" => lambda do
    EACH.call do |owner, name, visibility|
      old = "old_#{name}"
      owner.alias_method(old, name)
      owner.define_method(name) { |*arguments, **options, &block| (OWN_CODE.call(owner, name); send(old, *arguments, **options, &block)) }
      owner.send(visibility, name)
    end
  end,
  "prepend" => lambda do
    EACH.call do |owner, name, visibility|
      owner.prepend(Module.new do
        define_method(name) { |*arguments, **options, &block| (OWN_CODE.call(owner, name); super(*arguments, **options, &block)) }
        send(visibility, name)
      end)
    end
  end,
  # Stubs each method as Object#stub of minitest does, and ends the stub.
  "stub" => lambda do
    EACH.call do |owner, name|
      owner.alias_method(:kept_by_stub, name)
      owner.define_method(name) { |*| :stubbed }
      owner.undef_method(name)
      owner.alias_method(name, :kept_by_stub)
      owner.undef_method(:kept_by_stub)
    end
  end
}.freeze

ARGV.each { |step| STEPS.fetch(step).call }
CALLS.each do |(owner, name), call|
  visibility = owner.private_method_defined?(name) ? "private" : "public"
  puts "#{visibility} #{owner}.#{name}: #{call.call.inspect}"
  $stdout.flush
end
