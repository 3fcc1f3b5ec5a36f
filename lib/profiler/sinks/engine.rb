# frozen_string_literal: true

require_relative "../process/losses"
require_relative "sender"

module Profiler
  module Sinks
    # A sink that sends windows to a backend over HTTP. Subclasses define how a window is encoded and where it is sent.
    #
    # A window is encoded by the thread that takes it, without the GVL, and sent by the thread of a {Sender}.
    class Engine
      # Default labels of samples that become dimensions in the backend.
      DIMENSIONS = %w[endpoint job].freeze

      # Options of the encoder: the most values of a dimension.
      VALUES = 100

      # @param service [String, nil] by default that of the environment, or else the program's name
      # @param labels [Hash] of all samples
      # @param dimensions [Array<String, Symbol>] labels of samples that are sent; each value can become a series in the backend
      # @param values [Integer] of a dimension; the others become +(other)+
      # @raise [ArgumentError] for a value that is not allowed
      def initialize(endpoint, service: nil, labels: {}, dimensions: DIMENSIONS, values: VALUES)
        AnyObject.integer("values", values)
        Eager.load(Sinks)
        @endpoint = endpoint
        @service = AnyObject.word("service", service.equal?(nil) ? Service.name_from : service)
        raise ArgumentError, "service: is empty (allowed: a name that is not empty)" if @service.empty?

        @labels = Service.hash_of("labels", labels).transform_values { |value| Service.scalar("labels", value) }
        @shape = { dimensions: AnyObject.words("dimensions", dimensions), values: values }
        begin_account
      end

      # Returns the number of windows of this process that were delivered.
      #
      # @return [Integer]
      def delivered = @sender.delivered

      # Returns the number of windows of this process that were lost.
      #
      # @return [Integer]
      def lost = @losses.count

      # @return [Exception, nil] the reason why a window is being retried, or else of the last loss
      def error = @sender.trouble || @losses.error

      # Sends a window soon.
      #
      # @param profile [Profile]
      # @api private
      def take(profile)
        body = encode(profile)
        @sender.add(body) if body
      end

      # Sends rows of memory soon, if the backend has a place for them.
      #
      # @param rows [Array<String>] in JSON
      # @api private
      def take_memory(_rows) = nil

      # @api private
      def own_thread? = false

      # Counts a window that could not be encoded.
      #
      # @api private
      def lose(error) = @losses.add(error)

      # @see Sender#flush
      # @api private
      def flush(last) = @sender.flush(last)

      # @see Sender#wait
      # @api private
      def wait(till) = @sender.wait(till)

      # Starts over in a forked child: waiting windows are the parent's.
      #
      # @api private
      def forked(same)
        begin_account unless same
      end

      # @return [Hash{Symbol => Integer}]
      # @api private
      def counts
        { delivered: delivered, lost: lost, retried: @sender.retried, bytes: @sender.bytes, waiting: @sender.waiting, waiting_bytes: @sender.waiting_bytes }
      end

      # Returns the name in metrics, which is also that of the thread.
      #
      # @api private
      def name = self.class::NAME

      def inspect = "#<#{self.class} #{@endpoint}>"

      private

      # Keeps the id of the window when it is sent again.
      def upload(profile, kind, **options)
        profile.upload(kind, id: Random.urandom(16), gzip: true, **@shape, **options)
      end

      def begin_account
        @losses = Losses.new("a window for #{name} was lost")
        @sender = Sender.new("profiler #{name}", @endpoint, self.class::TYPE, @losses, jitter: self.class::JITTER)
      end
    end
  end
end
