# frozen_string_literal: true

module Profiler
  class Continuous
    # Handles where a process begins, ends or becomes another one, besides its normal end. The modules are hooks as those of
    # {Interop}. In a Ractor other than the main one nothing is done, as the session is the main one's.
    module Ends
      # Continues in the child of a fork.
      module Fork
        def self.call(original, receiver)
          pid = original.bind_call(receiver)
          Running.continue_in_child if pid.equal?(0) && !Platform.ractor_reason
          pid
        end
      end

      # Delivers what there is before the process becomes a daemon, which Ruby forks by another way, and continues there.
      module Daemon
        def self.call(original, receiver, ...)
          Running.flush
          original.bind_call(receiver, ...).tap { Running.continue_in_child(same: true) }
        end
      end

      # Delivers what there is before another program replaces this one. If that fails, the session goes on.
      module Exec
        def self.call(original, receiver, ...)
          Running.flush unless Platform.ractor_reason
          original.bind_call(receiver, ...)
        end
      end

      # Delivers the last profile before the process ends at once.
      module ExitNow
        def self.call(original, receiver, ...)
          Running.finish unless Platform.ractor_reason
          original.bind_call(receiver, ...)
        end
      end

      # Delivers the last profile in a child of IO.popen("-") with a block, which ends by none of these.
      module Popen
        def self.call(original, receiver, *arguments, **options, &block)
          Interop.popen(original, receiver, arguments, options, block) { Running.finish }
        end
      end

      class << self
        # Sets the hooks, once.
        def watch
          Interop.redefine(Kernel, exec: Exec, exit!: ExitNow)
          Interop.redefine(Kernel.singleton_class, exec: Exec, exit!: ExitNow)
          Interop.redefine(Process.singleton_class, _fork: Fork, daemon: Daemon, exec: Exec, exit!: ExitNow)
          Interop.redefine(IO.singleton_class, popen: Popen)
          @at_exit ||= at_exit { Running.finish } || true
        end
      end
    end
  end
end
