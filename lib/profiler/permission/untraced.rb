# frozen_string_literal: true

module Profiler
  class Permission
    # Lets code read the session and user of a request without a trace. Reading a session marks it as used, so its cookie is
    # sent again, and Warden remembers the user: a denied client could detect the middleware. So the code works on copies, which
    # are discarded.
    module Untraced
      # Keys of an env that concern its client, and caches of having read them. Caches of the body must stay, because a body can
      # be read only once.
      ABOUT = /session|cookie|flash|warden/.freeze
      COPIED = %w[rack.session rack.session.options action_dispatch.cookies action_dispatch.request.flash_hash].freeze
      WARDEN = "warden"
      VARIABLES, GET, SET = %i[instance_variables instance_variable_get instance_variable_set].map { |name| Kernel.instance_method(name) }
      private_constant :ABOUT, :COPIED, :WARDEN, :VARIABLES, :GET, :SET

      class << self
        # @param env [Hash] of a request that no other thread works on meanwhile
        # @yieldreturn [Object] the result; nil if Warden's +throw+ ends the block
        def read(env)
          before = env.select { |key, _value| about?(key) }
          before.each { |key, value| env[key] = copy(key, value) if Hash === value || (value && COPIED.include?(key)) }
          warden = env.fetch(WARDEN, nil)
          env[WARDEN] = warden.class.new(env, warden.manager) if AnyObject.can?(warden, :manager)
          catch(:warden) { return yield }
          nil
        ensure
          restore(env, before) if before
        end

        private

        # An app may have keys of any kind.
        def about?(key) = String === key && ABOUT.match?(key)

        # Copies nested Hashes too: a session that is not loaded yet loads into one.
        def copy(key, object)
          raise ArgumentError, "#{key}: #{AnyObject.text(object)} cannot be copied, so permit is not called (allowed: an object with dup)" unless AnyObject.can?(object, :dup)

          copy = object.dup
          VARIABLES.bind_call(copy).each do |name|
            value = GET.bind_call(copy, name)
            SET.bind_call(copy, name, value.dup) if Hash === value
          end
          copy
        end

        def restore(env, before)
          env.delete_if { |key, _value| about?(key) && !before.key?(key) }
          env.update(before)
        end
      end
    end
  end
end
