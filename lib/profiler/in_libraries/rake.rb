# frozen_string_literal: true

module Profiler
  module InLibraries
    # Labels the actions of tasks with +rake+: +db:migrate+.
    module Rake
      def self.hook(task)
        task.prepend(self)
      end

      def execute(*arguments)
        return super unless Session.covering?

        Profiler.label(rake: name.to_s) { super }
      end
    end
  end
end
