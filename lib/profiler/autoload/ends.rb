# frozen_string_literal: true

module Profiler
  module Autoload
    # Handles the ends of a process that run no block of at_exit.
    module Ends
      # Handles exec: another program replaces this one.
      module Exec
        def exec(...)
          Autoload.around_exec { super(...) }
        end
      end

      # Handles exit!: the process ends at once.
      module ExitNow
        def exit!(...)
          Autoload.finish_in_time
          super
        end
      end

      # Handles Process.daemon: the process ends, and a child of it continues.
      module Daemon
        def daemon(...)
          Autoload.write_so_far
          super
        end
      end

      # Handles IO.popen("-") with a block: the child ends after the block as by exit!.
      module Popen
        def popen(*arguments, **options, &block)
          return super unless block

          super(*arguments, **options) do |io|
            block.call(io)
          ensure
            Autoload.finish if io.nil? # this is the child
          end
        end
      end

      # Prepends the modules, once.
      def self.watch
        Kernel.prepend(Interop.inside(Exec), Interop.inside(ExitNow))
        [Kernel.singleton_class, Process.singleton_class].each { |owner| owner.prepend(Exec, ExitNow) }
        Process.singleton_class.prepend(Daemon)
        IO.singleton_class.prepend(Popen)
      end
    end
  end
end
