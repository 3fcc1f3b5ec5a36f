# frozen_string_literal: true

module Profiler
  class Profile
    # The links of a page to the user's editor: PROFILER_EDITOR or, as in Rails, RAILS_EDITOR. Loaded on first use.
    #
    # @api private
    module Editor
      VARIABLES = %w[PROFILER_EDITOR RAILS_EDITOR].freeze
      # The addresses that editors open, by their names: +%f+ is the path, and +%l+ the line.
      ADDRESSES = {
        "atom" => "atom://core/open/file?filename=%f&line=%l",
        "cursor" => "cursor://file%f:%l",
        "emacs" => "emacs://open?url=file://%f&line=%l",
        "idea" => "idea://open?file=%f&line=%l",
        "macvim" => "mvim://open?url=file://%f&line=%l",
        "nova" => "nova://core/open/file?filename=%f&line=%l",
        "rubymine" => "x-mine://open?file=%f&line=%l",
        "sublime" => "subl://open?url=file://%f&line=%l",
        "textmate" => "txmt://open?url=file://%f&line=%l",
        "vscode" => "vscode://file%f:%l",
        "vscodium" => "vscodium://file%f:%l",
        "windsurf" => "windsurf://file%f:%l",
        "zed" => "zed://file%f:%l"
      }.freeze
      # An address of one's own. The page refuses the schemes of the web.
      ADDRESS = %r{\A[a-z][a-z0-9+.-]*://[^<>"\s]*%f[^<>"\s]*\z}i.freeze
      # The block of a page before which the address is inserted.
      FACTS = '<script type="application/json" id="facts">'
      private_constant :VARIABLES, :ADDRESSES, :ADDRESS, :FACTS

      class << self
        # @return [String, nil] the address that opens a file; nil without an editor, or for one that is not known
        def address(environment = ENV)
          editor = environment.values_at(*VARIABLES).find { |it| it && !it.empty? }
          ADDRESSES[editor] || editor&.[](ADDRESS)
        end

        # @param page [String] a page, binary
        # @return [String] the page with the address
        def put_into(page)
          address = self.address
          return page unless address

          page.sub(FACTS) { |facts| %(<script type="text/plain" id="editor">#{address}</script>\n#{facts}) }
        end
      end
    end
    private_constant :Editor
  end
end
