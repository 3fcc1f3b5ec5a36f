# frozen_string_literal: true

module Profiler
  # The destinations of the profiles of a continuous session.
  #
  # A sink has these methods: +take(profile)+, +take_memory(rows)+, +own_thread?+ (whether it can only be called on the thread of the
  # periods),
  # +lose(error)+, +flush(last)+ and +wait(till)+ (which flush waiting windows), +forked(same)+, +delivered+, +lost+, +error+,
  # +counts+ and +name+.
  module Sinks
    autoload :BoundedSocket, "#{__dir__}/sinks/bounded_socket"
    autoload :Endpoint, "#{__dir__}/sinks/endpoint"
    autoload :Engine, "#{__dir__}/sinks/engine"
    autoload :Plain, "#{__dir__}/sinks/plain"
    autoload :Sender, "#{__dir__}/sinks/sender"
    autoload :Service, "#{__dir__}/sinks/service"

    # The backends that can be selected by name, and are configured by the environment.
    NAMED = { "pyroscope" => :Pyroscope, "otlp" => :Otlp }.freeze
    private_constant :NAMED

    class << self
      # @param to [Object, Array] backends, their names, directories, and objects that respond to +call+
      # @return [Array<Plain, Engine>]
      # @raise [ArgumentError] for anything else
      def of(to)
        (Array === to ? to : [to]).map { |it| one(it) }
      end

      private

      def one(it)
        named = NAMED[it.to_s] if String === it || Symbol === it
        return Profiler.const_get(named).new if named
        return it if Engine === it
        return Plain.new(it) if Directory === it || AnyObject.can?(it, :call)

        raise ArgumentError, "to: #{Endpoint.harmless(it)} is not a sink (allowed: #{NAMED.keys.join(", ")}, Profiler::Pyroscope, Profiler::Otlp, Profiler::Directory, what " \
                             "responds to call)"
      end
    end
  end
  private_constant :Sinks
end
