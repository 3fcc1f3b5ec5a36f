# frozen_string_literal: true

require_relative "verb"

module Profiler
  module CLI
    # +profiler completion SHELL+: what a shell needs to complete verbs and options.
    class Completion < Verb
      SUMMARY = "Prints what bash, zsh or fish needs to complete verbs and options."
      USAGE = "completion bash|zsh|fish"
      EXAMPLES = <<~TEXT
        source <(profiler completion bash)                 # in ~/.bashrc; the same with zsh in ~/.zshrc
        profiler completion fish > ~/.config/fish/completions/profiler.fish
      TEXT

      SHELLS = %w[bash zsh fish].freeze

      private

      def call(arguments)
        shell = arguments.first
        unless arguments.size == 1 && SHELLS.include?(shell)
          raise UsageError, "which shell? (allowed: #{SHELLS.join(", ")}; profiler #{USAGE})"
        end

        puts send(shell)
        0
      end

      # @return [Hash{String => Array<String>}] long options by verb
      def options
        CLI::VERBS.to_h { |verb, name| [verb, CLI.const_get(name).new.long_options] }
      end

      def bash
        cases = options.map { |verb, list| "    #{verb}) words=\"#{list.join(" ")}\" ;;" }
        <<~BASH
          _profiler() {
            local word=${COMP_WORDS[COMP_CWORD]} words=
            if [ "$COMP_CWORD" -eq 1 ]; then
              COMPREPLY=($(compgen -W "#{[*CLI::VERBS.keys, *CLI::ALIASES.keys, "help"].join(" ")}" -- "$word"))
              return
            fi
            case ${COMP_WORDS[1]} in
          #{cases.join("\n")}
              help) words="#{CLI::VERBS.keys.join(" ")}" ;;
            esac
            case $word in
              -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
              *) [ "${COMP_WORDS[1]}" = help ] && COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
            esac
          }
          complete -o default -F _profiler profiler
        BASH
      end

      def zsh
        "autoload -U +X bashcompinit && bashcompinit\n#{bash}"
      end

      def fish
        verbs = CLI::VERBS.map do |verb, name|
          summary = CLI.const_get(name).summary.tr("'", "")
          "complete -c profiler -n __fish_use_subcommand -f -a #{verb} -d '#{summary}'"
        end
        verbs += options.flat_map do |verb, list|
          list.map { |option| "complete -c profiler -n '__fish_seen_subcommand_from #{verb}' -l #{option.delete_prefix("--")}" }
        end
        verbs.join("\n")
      end
    end
  end
end
