# frozen_string_literal: true

require_relative "wrapping"

module Profiler
  module InLibraries
    # Labels the actions of tasks with +rake+: +db:migrate+.
    module Rake
      class << self
        def hook(task) = Wrapping.wrap(task, :execute, self)

        def execute(task, *)
          return yield unless Session.covering?

          Profiler.label(rake: task.name.to_s) { yield }
        end
      end
    end
  end
end
