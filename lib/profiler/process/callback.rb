# frozen_string_literal: true

module Profiler
  # Runs the app's own callbacks, which may raise or throw anything.
  module Callback
    # Errors of a callback, and when those that come from other threads arrive meanwhile. Others may be a time-out or the end.
    ERRORS = [StandardError, ScriptError, SecurityError, NoMemoryError, SystemStackError].to_h { |it| [it, :never] }.freeze
    private_constant :ERRORS

    # Runs the block. {ERRORS} from other threads are deferred until its end, so what is rescued is the callback's own. Everything
    # else propagates, as it may have come from outside.
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
        # Without an exception on its way this is a throw to the app, or Thread#kill, which goes on.
        unless handled || !$!.equal?(before) || Thread.current.status == "aborting" # rubocop:disable Style/SpecialGlobalVars
          return losses.add(Error.new("a callback threw to the app")) # rubocop:disable Lint/EnsureReturn
        end
      end
    end
  end
end
