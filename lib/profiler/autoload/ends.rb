# frozen_string_literal: true

module Profiler
  module Autoload
    # The ends of a process by which no block of at_exit is passed.
    module Ends
      # exec: the program turns into another.
      module Exec
        def exec(...)
          Autoload.around_exec { super(...) }
        end
      end

      # exit!: the process ends as it is.
      module ExitNow
        def exit!(...)
          Autoload.finish_in_time
          super
        end
      end

      # Process.daemon: the process ends, and a child of it goes on.
      module Daemon
        def daemon(...)
          Autoload.write_so_far
          super
        end
      end

      # IO.popen("-") with a block: the child ends after the block as by exit!.
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

      # Puts them before Ruby's own, once.
      def self.watch
        Kernel.prepend(Interop.inside(Exec), Interop.inside(ExitNow))
        [Kernel.singleton_class, Process.singleton_class].each { |owner| owner.prepend(Exec, ExitNow) }
        Process.singleton_class.prepend(Daemon)
        IO.singleton_class.prepend(Popen)
      end
    end
  end
end
