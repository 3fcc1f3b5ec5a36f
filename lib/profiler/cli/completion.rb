# frozen_string_literal: true

require_relative "command"

module Profiler
  module CLI
    # +profiler completion SHELL+: a completion script for commands and options.
    class Completion < Command
      SUMMARY = "Prints a completion script for a shell, for commands and options."
      USAGE = "completion bash | zsh | fish"
      EXAMPLES = <<~TEXT
        source <(profiler completion bash)    # in ~/.bashrc
        source <(profiler completion zsh)     # in ~/.zshrc
        profiler completion fish > ~/.config/fish/completions/profiler.fish
      TEXT

      SHELLS = %w[bash zsh fish].freeze

      private

      def call(arguments)
        shell, = expected(arguments, 1, "one shell", "allowed: #{SHELLS.join(", ")}")
        raise UsageError, "#{shell.inspect} is not a shell (allowed: #{SHELLS.join(", ")})" unless SHELLS.include?(shell)

        puts send(shell)
        0
      end

      # @return [Hash{String => Array<String>}] long options by command
      def options
        CLI::COMMANDS.to_h { |command, name| [command, CLI.const_get(name).new.long_options] }
      end

      def bash
        cases = options.map { |command, list| "    #{command}) words=\"#{list.join(" ")}\" ;;" }
        <<~BASH
          _profiler() {
            local word=${COMP_WORDS[COMP_CWORD]} words=
            if [ "$COMP_CWORD" -eq 1 ]; then
              COMPREPLY=($(compgen -W "#{[*CLI::COMMANDS.keys, *CLI::ALIASES.keys, "help"].join(" ")}" -- "$word"))
              return
            fi
            case ${COMP_WORDS[1]} in
          #{cases.join("\n")}
              help) words="#{CLI::COMMANDS.keys.join(" ")}" ;;
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
        commands = CLI::COMMANDS.map do |command, name|
          summary = CLI.const_get(name).summary.tr("'", "")
          "complete -c profiler -n __fish_use_subcommand -f -a #{command} -d '#{summary}'"
        end
        commands += options.flat_map do |command, list|
          list.map { |option| "complete -c profiler -n '__fish_seen_subcommand_from #{command}' -l #{option.delete_prefix("--")}" }
        end
        commands.join("\n")
      end
    end
  end
end
