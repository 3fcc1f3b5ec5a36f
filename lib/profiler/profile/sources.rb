# frozen_string_literal: true

require "json"

module Profiler
  class Profile
    # Reads the text of a profile's source files, to include it in a page. Loaded on first use.
    #
    # A page may be sent, and a profile may come from anywhere and name any file. So only Ruby code is read, and only below the
    # working directory, in gems and in Ruby's library.
    #
    # @api private
    module Sources
      # Files that Ruby runs, by their names.
      RUBY_PATHS = /\.(?:rb|ru|rake|gemspec)\z/.freeze
      # The first line of a file that Ruby runs.
      SHEBANG = /\A#!.*\bruby/.freeze
      # Files and directories that are not shown.
      HIDDEN = %r{(?:\A|/)\.}.freeze
      # Files whose names suggest secrets.
      SECRET_PATHS = %r{(?:\A|[/._-])(?:secrets?|credentials?|passwords?|tokens?|private|keys?)(?:[/._-]|\z)|(?:\A|/)\.[^/]*\z|\.(?:pem|key|p12|pfx|env)\z}i.freeze
      # Texts with a private key, an access key, or a password as a literal.
      SECRET_TEXTS = /-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{30,}|\bxox[abprs]-\w|\bsk_live_\w|(?:password|passwd|secret|token|api_?key|access_?key)\w*["']?\s*(?:=>?|:)\s*["'][^"'#\s]{6,}["']/i.freeze
      # The block of a page before which the sources are inserted.
      FACTS = '<script type="application/json" id="facts">'
      MAX_FILE_BYTES = 1 << 20
      MAX_TOTAL_BYTES = 8 << 20
      private_constant :RUBY_PATHS, :SHEBANG, :HIDDEN, :SECRET_PATHS, :SECRET_TEXTS, :FACTS, :MAX_FILE_BYTES, :MAX_TOTAL_BYTES

      class << self
        # @param page [String] a page, binary
        # @param profile [Profile] the profile in it
        # @return [Array(String, Array<String>)] the page with the sources of the profile, and their paths
        def put_into(page, profile)
          texts = of(profile)
          # +<+ is escaped, so that no text can end the block.
          block = %(<script type="application/json" id="sources">#{JSON.generate(texts).gsub("<", "\\u003c")}</script>\n)
          [page.sub(FACTS) { |facts| "#{block.b}#{facts}" }, texts.keys]
        end

        # Reads the app's files first, because the number of bytes is limited.
        #
        # @param profile [Profile]
        # @return [Hash{String => Hash}] by path, as in the profile: the text, and whether it was changed after the profile.
        #   Files that cannot be read or look secret are left out.
        def of(profile)
          functions = Native.functions(profile)
          paths = functions.sort_by { |it| it[3] ? 0 : 1 }.map { |it| it[1] }.uniq
          left = MAX_TOTAL_BYTES
          roots = self.roots
          paths.each_with_object({}) do |path, found|
            text = text_of(path, roots) if left.positive?
            next unless text && text.bytesize <= left

            found[path] = { text: text, changed: changed?(path, profile) }
            left -= text.bytesize
          end
        end

        private

        # Returns whether its lines may differ from those of the profile.
        def changed?(path, profile)
          started_ns, duration_ns = profile.meta[:started_at_ns], profile.stats[:duration_ns]
          started_ns.positive? && duration_ns.positive? && File.mtime(path) > Time.at(0, started_ns + duration_ns, :nsec)
        rescue SystemCallError
          true # it was removed since it was read
        end

        # Returns the directories of source files: the working directory, the gems, and Ruby's library.
        def roots
          gems = defined?(Gem) ? Gem.path : []
          directories = [".", *gems, *RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir", "sitedir", "vendordir", "sitelibdir", "vendorlibdir")]
          directories.compact.filter_map { |it| real(it) }.uniq.map { |it| File.join(it, "") }
        end

        def text_of(path, roots)
          return if path.empty? || path.start_with?("<") || path.match?(SECRET_PATHS)

          file = real(path)
          return unless file && allowed?(file, roots) && File.file?(file) && File.size(file) <= MAX_FILE_BYTES

          text = File.read(file, encoding: Encoding::UTF_8)
          text if text.valid_encoding? && !text.include?("\0") && (file.match?(RUBY_PATHS) || text.match?(SHEBANG)) && !text.match?(SECRET_TEXTS)
        rescue SystemCallError
          nil
        end

        # Returns whether a file may be read: it lies below a root, and neither it nor a directory on the way there is hidden.
        def allowed?(file, roots)
          return false if file.match?(SECRET_PATHS) || (!File.extname(file).empty? && !file.match?(RUBY_PATHS))

          roots.any? { |root| file.start_with?(root) && !file.delete_prefix(root).match?(HIDDEN) }
        end

        # Returns the path without symbolic links; nil if there is no such file.
        def real(path)
          File.realpath(path)
        rescue SystemCallError, ArgumentError, EncodingError
          nil
        end
      end
    end
    private_constant :Sources
  end
end
