# frozen_string_literal: true

module Profiler
  module Sinks
    # The name of this program among the services of a fleet, and its attributes from the environment.
    module Service
      class << self
        # @return [String]
        def name(env = ENV)
          present(env["OTEL_SERVICE_NAME"]) || attributes(env)["service.name"] || program
        end

        # The attributes of +OTEL_RESOURCE_ATTRIBUTES+: names and values, with percent signs decoded. Pairs that are none are left out.
        #
        # @return [Hash{String => String}]
        def attributes(env = ENV)
          pairs(env["OTEL_RESOURCE_ATTRIBUTES"]).to_h { |name, value| [name, decoded(value)] }
        end

        # The pairs of +name=value,name=value+.
        #
        # @return [Array<Array(String, String)>]
        def pairs(text)
          text.to_s.split(",").filter_map do |pair|
            name, value = pair.split("=", 2).map(&:strip)
            [name, value] if value && !name.empty?
          end
        end

        # The Hash of an option, with names that are Strings. The message does not print it, as a header can be a secret.
        #
        # @param option [String] the name
        # @return [Hash{String => Object}]
        # @raise [ArgumentError]
        def hash_of(option, object)
          raise ArgumentError, "#{option}: is #{object.class}, which is not a Hash" unless object.is_a?(Hash)

          object.transform_keys(&:to_s)
        end

        # The name of the program. A server writes more into its title, as +puma: cluster worker 0: 4711+, which would be a service for
        # each process.
        #
        # @return [String]
        def program(title = $PROGRAM_NAME)
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
