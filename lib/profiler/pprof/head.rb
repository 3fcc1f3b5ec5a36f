# frozen_string_literal: true

module Profiler
  class Pprof
    # The head of a request as it arrives: its first line and its headers.
    class Head
      # The largest size of a head, in bytes.
      LONGEST = 8_192
      # The time in seconds within which the head has to arrive.
      PATIENCE = 5
      LINE = %r{\A(?<method>[A-Z]{1,20}) (?<path>/[!-~&&[^?#]]*)(?:\?(?<query>[!-~&&[^#]]*))? (?<protocol>HTTP/1\.[01])\z}n.freeze
      HEADER = /\A(?<name>[A-Za-z0-9-]+):[ \t]*(?<value>[^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*\z/n.freeze
      # The first bytes of a request in HTTP. Other protocols, such as TLS, begin differently.
      FIRST = /\A(?:[A-Z]|\r?\n)/n.freeze
      END_OF_HEAD = /\r?\n\r?\n/n.freeze
      private_constant :LINE, :HEADER, :FIRST, :END_OF_HEAD

      # The deadline on {Clock.now}.
      attr_reader :till

      def initialize
        @bytes = String.new(encoding: Encoding::BINARY)
        @till = Clock.now + PATIENCE
      end

      # @param bytes [String]
      # @return [Symbol] +:complete+, +:partial+, +:too_long+ or +:invalid+
      def add(bytes)
        @bytes << bytes
        return :invalid unless FIRST.match?(@bytes)

        length = @bytes.index(END_OF_HEAD)
        return (length || @bytes.bytesize) > LONGEST ? :too_long : :partial if length.nil? || length > LONGEST

        :complete
      end

      # Returns the env of Rack, without the part that comes from the connection.
      #
      # @return [Hash, nil] nil if it is not valid
      def env
        first, *lines = @bytes[0, @bytes.index(END_OF_HEAD)].sub(/\A(?:\r?\n)+/n, "").split(/\r?\n/n)
        request = LINE.match(first.to_s) or return
        headers = headers_in(lines) or return
        { "REQUEST_METHOD" => request[:method], "SCRIPT_NAME" => "", "PATH_INFO" => request[:path], "QUERY_STRING" => request[:query].to_s,
          "SERVER_PROTOCOL" => request[:protocol], **headers }
      end

      private

      # @return [Hash, nil]
      def headers_in(lines)
        lines.each_with_object({}) do |line, headers|
          header = HEADER.match(line) or return nil
          name = "HTTP_#{header[:name].upcase.tr("-", "_")}"
          return nil if name == "HTTP_HOST" && headers.key?(name) # which of the two was checked?

          headers[name] = [headers[name], header[:value]].compact.join(", ")
        end
      end
    end
  end
end
