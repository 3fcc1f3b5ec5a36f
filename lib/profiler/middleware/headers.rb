# frozen_string_literal: true

module Profiler
  class Middleware
    # Reads and extends the headers of an app's responses. In Rack 2 they may be all that yields pairs. Headers of any other kind,
    # and those that raise, stay as they are: the server says what is wrong with them.
    module Headers
      @losses = Losses.new("the headers of a response were not extended")

      class << self
        # Returns the headers with one more. The app's are copied, as they may be frozen or reused.
        #
        # @param headers [Object] the app's
        # @param name [String]
        # @param value [Object]
        # @return [Object]
        def with(headers, name, value)
          extended = read do
            next { name => value } if headers.equal?(nil)
            next headers.dup.tap { |copy| copy[name] = value } if hash?(headers)

            pairs = pairs_of(headers)
            pairs.reject { |key, _| key == name } << [name, value] if pairs
          end
          extended || headers
        end

        # Returns the value of a header. An app's Hash may have a default, even one that raises.
        #
        # @return [Object, nil]
        def value_of(headers, name)
          return if headers.equal?(nil)
          return headers.fetch(name, nil) if Hash === headers && headers.instance_of?(Hash) # runs no code of the app

          read do
            next (headers[name] if headers.key?(name)) if hash?(headers)

            pairs_of(headers)&.reverse&.find { |key, _| key == name }&.last
          end
        end

        # Returns whether they are a Hash, or behave as one.
        def hash?(headers) = Hash === headers || %i[to_hash key? [] []=].all? { |method| AnyObject.can?(headers, method) }

        private

        def pairs_of(headers)
          return unless AnyObject.can?(headers, :each)

          pairs = []
          headers.each { |name, value| pairs << [name, value] }
          pairs
        end

        def read(&block) = Callback.call(@losses, &block)
      end
    end
  end
end
