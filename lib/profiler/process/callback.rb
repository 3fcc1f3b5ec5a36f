# frozen_string_literal: true

module Profiler
  # Runs the app's own callbacks, which may raise or throw anything.
  module Callback
    # The errors of a callback that are rescued, with how to treat those that other threads raise here meanwhile. Other
    # exceptions may be a time-out or the end of the process.
    ERRORS = [StandardError, ScriptError, SecurityError, NoMemoryError, SystemStackError].to_h { |it| [it, :never] }.freeze
    private_constant :ERRORS

    # Runs the block. {ERRORS} from other threads are deferred until its end, so only the callback's own errors are rescued. All
    # other exceptions propagate, because they may come from outside.
    #
    # @param losses [Losses]
    # @return [Object, nil] what the block returns; nil after an error or a throw
    def self.call(losses)
      before = $! # rubocop:disable Style/SpecialGlobalVars -- English would have to be loaded
      Thread.handle_interrupt(ERRORS) do
        result = yield
        handled = true
        result
      rescue *ERRORS.keys => e
        handled = true
        losses.add(e)
      ensure
        # If there is no exception, this is a throw to the app, or Thread#kill, which continues.
        unless handled || !$!.equal?(before) || Thread.current.status == "aborting" # rubocop:disable Style/SpecialGlobalVars
          return losses.add(Error.new("a callback threw to the app")) # rubocop:disable Lint/EnsureReturn
        end
      end
    end
  end
  private_constant :Callback
end
