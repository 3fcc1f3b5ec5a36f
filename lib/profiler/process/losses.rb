# frozen_string_literal: true

module Profiler
  # Counts the losses of one kind and reports them on stderr. Never raises, even if the app has redefined +warn+ or its errors
  # raise again.
  #
  # Ruby 2 can read this file: see autoload.rb.
  class Losses
    # The maximum number of lines of one kind, because errors repeat.
    LINES = 20
    # The maximum number of characters that are printed of a message. Some messages inspect whole objects.
    LONGEST_REASON = 500
    # The errors that writing a line can raise. If another thread raises one of these here, it is deferred until the line is written.
    OF_WRITING = { SystemCallError => :never, IOError => :never, EncodingError => :never }.freeze
    # The errors of an app's own code.
    OF_APPS = { StandardError => :never }.freeze
    # Control characters, and those that change the direction of text. A line may quote text from anywhere.
    OBEYED = /[[:cntrl:]\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/.freeze
    private_constant :LONGEST_REASON, :OF_WRITING, :OBEYED

    attr_reader :count

    # The last error.
    attr_reader :error

    class << self
      # Prints a line to the original stderr, even if the app has replaced $stderr, and even with -W0.
      def warn(line)
        line = "[profiler] #{harmless(line)}\n"
        own(OF_WRITING, ->(_error) {}) { STDERR.write(line) if fits?(STDERR, line) } # stderr is closed: there is no other place for a message
      end

      # Returns the text as one line, with a question mark in place of each invalid or control character.
      #
      # @param text [String]
      # @return [String] in UTF-8
      def harmless(text)
        text = text.dup.force_encoding(Encoding::UTF_8) if [Encoding::BINARY, Encoding::US_ASCII].include?(text.encoding)
        text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: "?").scrub("?").gsub(OBEYED) { "?" } # gsub would call to_hash on a second argument
      end

      # Returns the first line of the error's message, cut if it is too long, or the class if the app's +message+ raises.
      def reason(error)
        own(OF_APPS, ->(_error) { error.class.to_s }) { error.message.to_s.lines.first.to_s.chomp[0, LONGEST_REASON] }
      end

      # Runs the block and rescues errors of these kinds, but only those that the block raises itself. An error that another thread
      # raises here meanwhile, as Timeout does, is delivered after the block.
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

      private

      # Returns whether a file may grow by the line (ulimit -f). Beyond the limit, a write would end the process by SIGXFSZ.
      def fits?(file, line)
        status = file.stat
        !status.file? || status.size + line.bytesize <= Process.getrlimit(:FSIZE).first # none is a very large number
      end
    end

    # @param what [String] the start of each line, such as "a profile was lost"
    def initialize(what)
      @what = what
      @count = 0
      @said = {}
    end

    # Counts a loss and reports it, unless the same one was reported before.
    def add(error)
      @count += 1
      @error = error
      reason = "#{error.class}: #{Losses.reason(error)}"
      same = error.is_a?(SystemCallError) ? error.class : reason # the names of files differ
      return if @said[same] || @said.size >= LINES

      @said[same] = true
      Losses.warn("#{@what}: #{reason}")
      nil
    end
  end
end
