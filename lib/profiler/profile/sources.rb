# frozen_string_literal: true

require "json"

module Profiler
  class Profile
    # The text of the source files of a profile, to put into a page. It is loaded on first use.
    #
    # @api private
    module Sources
      # Files of which the names say that they are secret.
      SECRET_PATHS = %r{(?:\A|[/._-])(?:secrets?|credentials?|passwords?|tokens?|private|keys?)(?:[/._-]|\z)|(?:\A|/)\.[^/]*\z|\.(?:pem|key|p12|pfx|env)\z}i.freeze
      # Texts with a private key, an access key, or a password as a literal.
      SECRET_TEXTS = /-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{30,}|\bxox[abprs]-\w|\bsk_live_\w|(?:password|passwd|secret|token|api_?key|access_?key)\w*["']?\s*(?:=>?|:)\s*["'][^"'#\s]{6,}["']/i.freeze
      # The block of a page before which another one can stand.
      FACTS = '<script type="application/json" id="facts">'
      MOST_BYTES = 1 << 20 # of a file
      MOST_BYTES_IN_ALL = 8 << 20
      private_constant :SECRET_PATHS, :SECRET_TEXTS, :FACTS, :MOST_BYTES, :MOST_BYTES_IN_ALL

      class << self
        # @param page [String] a page, binary
        # @param profile [Profile] the profile in it
        # @return [String] the page with the sources of the profile
        def put_into(page, profile)
          # No text can end the block.
          block = %(<script type="application/json" id="sources">#{JSON.generate(of(profile)).gsub("<", "\\u003c")}</script>\n)
          page.sub(FACTS) { |facts| "#{block.b}#{facts}" }
        end

        # The app's files come first, as only so many bytes fit in.
        #
        # @param profile [Profile]
        # @return [Hash{String => Hash}] by path, as the profile has it: the text, and whether it was changed after the profile. Files that
        #   cannot be read or look secret are not in it.
        def of(profile)
          functions = Native.functions(profile)
          paths = functions.sort_by { |it| it[3] ? 0 : 1 }.map { |it| it[1] }.uniq
          left = MOST_BYTES_IN_ALL
          paths.each_with_object({}) do |path, found|
            text = text_of(path) if left.positive?
            next unless text && text.bytesize <= left

            found[path] = { text: text, changed: changed?(path, profile) }
            left -= text.bytesize
          end
        end

        private

        # Whether its lines may be others than those of the profile.
        def changed?(path, profile)
          started_ns, duration_ns = profile.meta[:started_at_ns], profile.stats[:duration_ns]
          started_ns.positive? && duration_ns.positive? && File.mtime(path) > Time.at(0, started_ns + duration_ns, :nsec)
        rescue SystemCallError
          true # it was removed since it was read
        end

        def text_of(path)
          return if path.empty? || path.start_with?("<") || path.match?(SECRET_PATHS) || !File.file?(path) || File.size(path) > MOST_BYTES

          text = File.read(path, encoding: Encoding::UTF_8)
          text if text.valid_encoding? && !text.include?("\0") && !text.match?(SECRET_TEXTS)
        rescue SystemCallError
          nil
        end
      end
    end
    private_constant :Sources
  end
end
