# frozen_string_literal: true

module Profiler
  # The losses of one kind: counted, and said on stderr. Nothing of that raises, whatever an app has made of +warn+ and of its
  # errors.
  #
  # Ruby 2 can read this file: see autoload.rb.
  class Losses
    # The largest number of lines of one kind, because errors repeat.
    LINES = 20
    # The largest number of characters of an error's message that are printed, because some messages inspect whole objects.
    LONGEST_REASON = 500
    # The errors of writing a line. Where another thread raises one of these here, it is deferred until then.
    OF_WRITING = { SystemCallError => :never, IOError => :never, EncodingError => :never }.freeze
    # The errors of an app's own code.
    OF_APPS = { StandardError => :never }.freeze
    # Characters that a terminal obeys, or that change the order of others. What a line quotes may come from anywhere.
    OBEYED = /[[:cntrl:]\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/.freeze
    private_constant :LINES, :LONGEST_REASON, :OF_WRITING, :OBEYED

    attr_reader :count

    # The last error.
    attr_reader :error

    class << self
      # Prints to the real stderr, whatever $stderr is, even with -W0.
      def say(line)
        own(OF_WRITING, ->(_error) {}) { STDERR.puts("[profiler] #{harmless(line)}") } # closed, or nobody reads it: there is no other place to complain
      end

      # The text, of one line, with a question mark for each character that is none or that a terminal obeys.
      #
      # @param text [String]
      # @return [String] in UTF-8
      def harmless(text)
        text = text.dup.force_encoding(Encoding::UTF_8) if [Encoding::BINARY, Encoding::US_ASCII].include?(text.encoding)
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: "?").scrub("?").gsub(OBEYED) { "?" } # a second argument is asked for to_hash
      end

      # The first line of its message, if that is not too long. An app's own error can raise here again.
      def reason(error)
        own(OF_APPS, ->(_error) { error.class.to_s }) { error.message.to_s.lines.first.to_s.chomp[0, LONGEST_REASON] }
      end

      # Runs the block, and rescues errors of these kinds that it raises itself. If another thread raises such an error here
      # meanwhile, as Timeout does, it is raised after the block.
      #
      # @param kinds [Hash{Class => Symbol}] each is +:never+, as for +Thread.handle_interrupt+
      # @param otherwise [#call] called with a rescued error, whose value is then returned
      # @api private
      def own(kinds, otherwise)
        Thread.handle_interrupt(kinds) do
          begin
            yield
          rescue *kinds.keys => e
            otherwise.call(e)
          end
        end
      end
    end

    # @param what [String] the begin of a line, as "a profile was lost"
    def initialize(what)
      @what = what
      @count = 0
      @said = {}
    end

    # Counts a loss. The same one is said once.
    def add(error)
      @count += 1
      @error = error
      reason = "#{error.class}: #{Losses.reason(error)}"
      same = error.is_a?(SystemCallError) ? error.class : reason # the names of files differ
      return if @said[same] || @said.size >= LINES

      @said[same] = true
      Losses.say("#{@what}: #{reason}")
      nil
    end
  end
end
