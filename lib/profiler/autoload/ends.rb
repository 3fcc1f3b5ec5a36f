# frozen_string_literal: true

module Profiler
  module Autoload
    # Handles the ends of a process that run no block of at_exit. The modules are hooks as those of {Interop}. A Ractor other than
    # the main one may not read the recording, so nothing is written where it ends the process.
    module Ends
      # Handles exec: another program replaces this one.
      module Exec
        def self.call(original, receiver, ...)
          return original.bind_call(receiver, ...) if Platform.ractor_reason

          Autoload.around_exec { original.bind_call(receiver, ...) }
        end
      end

      # Handles exit!: the process ends at once.
      module ExitNow
        def self.call(original, receiver, ...)
          Autoload.finish_in_time unless Platform.ractor_reason
          original.bind_call(receiver, ...)
        end
      end

      # Handles Process.daemon: the process ends, and a child of it continues.
      module Daemon
        def self.call(original, receiver, ...)
          Autoload.write_partial unless Platform.ractor_reason
          original.bind_call(receiver, ...)
        end
      end

      # Handles IO.popen("-") with a block: the child ends after the block as by exit!.
      module Popen
        def self.call(original, receiver, *arguments, **options, &block)
          Interop.popen(original, receiver, arguments, options, block) { Autoload.finish }
        end
      end

      # Sets the hooks, once.
      def self.watch
        Interop.redefine(Kernel, exec: Exec, exit!: ExitNow)
        Interop.redefine(Kernel.singleton_class, exec: Exec, exit!: ExitNow)
        Interop.redefine(Process.singleton_class, exec: Exec, exit!: ExitNow, daemon: Daemon)
        Interop.redefine(IO.singleton_class, popen: Popen)
      end
    end
  end
end
