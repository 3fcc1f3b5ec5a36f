# frozen_string_literal: true

module Profiler
  module Sinks
    # The name of this program among the services of a fleet, and its attributes from the environment.
    module Service
      class << self
        # @return [String]
        def name_from(env = ENV)
          present(env["OTEL_SERVICE_NAME"]) || attributes(env)["service.name"] || program
        end

        # Returns the attributes of +OTEL_RESOURCE_ATTRIBUTES+: names and values, percent-decoded. What is not a pair is left out.
        #
        # @return [Hash{String => String}]
        def attributes(env = ENV)
          pairs(env["OTEL_RESOURCE_ATTRIBUTES"]).to_h { |name, value| [name, decoded(value)] }
        end

        # Returns the pairs of +name=value,name=value+.
        #
        # @return [Array<Array(String, String)>]
        def pairs(text)
          text.to_s.dup.force_encoding(Encoding::UTF_8).scrub("?").split(",").filter_map do |pair|
            name, value = pair.split("=", 2).map(&:strip)
            [name, value] if value && !name.empty?
          end
        end

        # Returns the Hash of an option, with Strings as names. An error does not show the Hash, as a header can be a secret.
        #
        # @param option [String] the name
        # @return [Hash{String => Object}]
        # @raise [ArgumentError]
        def hash_of(option, object)
          raise ArgumentError, "#{option}: is #{AnyObject.class_of(object)}, which is not a Hash" unless Hash === object

          object.to_h { |name, value| [AnyObject.utf8(name) || (raise ArgumentError, "#{option}: a name is not allowed (allowed: a String or a Symbol)"), value] }
        end

        # The text of a value in such a Hash. The message does not print it.
        #
        # @return [String]
        # @raise [ArgumentError] for an object that is not a single value
        def scalar(option, value)
          text = case value
                 when String then String.new(value)
                 when Symbol, Numeric, true, false, nil then AnyObject.own_text(value)
                 end
          text || (raise ArgumentError, "#{option}: a value is not allowed (allowed: String, Symbol, Numeric, true, false)")
        end

        # Returns the name of the program. A server writes more into its title, such as +puma: cluster worker 0: 4711+, which would be
        # a service for
        # each process.
        #
        # @return [String]
        def program(title = $PROGRAM_NAME)
          title = Losses.harmless(title)
          path = File.exist?(title) ? title : title[/\A[^\s:]+/].to_s
          present(File.basename(path, ".rb")) || "ruby"
        end

        # @return [String]
        def decoded(text) = text.gsub(/%(\h\h)/) { $1.hex.chr }.force_encoding(Encoding::UTF_8).scrub("?") # rubocop:disable Style/PerlBackrefs

        # @return [String, nil]
        def present(text) = text.to_s.empty? ? nil : text
      end
    end
  end
end
