# frozen_string_literal: true

# Parameters of a method, from the method or from its signature in RBS. +least+ and +most+ count the positional ones; +most+ is
# nil with a splat. +block+ says whether it takes a block, and is nil where that cannot be known.
#
# A method in Rust or C says how many parameters it has, but not whether it yields. If their number varies (an arity of -1),
# Ruby knows none of them. With +...+ they are those of another method. Both kinds are checked loosely (+open+): a signature may
# have any parameters beyond the required ones.
Parameters = Struct.new(:text, :least, :most, :required, :optional, :any_keyword, :block, :open, keyword_init: true) do
  class << self
    # @param method [Method, UnboundMethod]
    # @return [Parameters]
    def of(method)
      kinds = method.parameters.group_by(&:first).transform_values { |found| found.map { |_, name| name.to_s } }
      kinds.default = [].freeze
      least = kinds[:req].size
      new(text: "(#{method.parameters.map { |kind, name| written(kind, name) }.join(", ")})",
          least: least, most: (least + kinds[:opt].size if kinds[:rest].empty?),
          required: kinds[:keyreq].sort, optional: kinds[:key].sort, any_keyword: kinds[:keyrest].any?,
          block: kinds[:block].any? || yields?(method), open: forwards?(kinds) || (method.source_location.nil? && method.arity.negative?))
    end

    # @param types [Array<RBS::MethodType>] its overloads
    # @return [Parameters] of all of them
    def of_types(types)
      functions = types.map(&:type)
      required = functions.map { |function| function.required_keywords.keys.map(&:to_s) }
      named = functions.flat_map { |function| [*function.required_keywords.keys, *function.optional_keywords.keys] }.map(&:to_s).uniq
      always = required.reduce(:&)
      new(text: types.join(" | "), least: functions.map { |function| needed(function) }.min,
          most: (functions.map { |function| needed(function) + function.optional_positionals.size }.max if functions.none?(&:rest_positionals)),
          required: always.sort, optional: (named - always).sort, any_keyword: functions.any?(&:rest_keywords),
          block: types.any?(&:block), open: false)
    end

    private

    def forwards?(kinds)
      [kinds[:rest], kinds[:block]] == [%w[*], %w[&]]
    end

    def needed(function)
      function.required_positionals.size + function.trailing_positionals.size
    end

    # @return [Boolean, nil] nil: unknown of a method in Rust or C, and of one that calls +super+, which passes a block on
    def yields?(method)
      code = RubyVM::InstructionSequence.of(method)&.disasm
      return if code.nil? || code.include?("invokesuper")

      code.match?(/invokeblock|block_given/)
    end

    def written(kind, name)
      case kind
      when :req then name || "_"
      when :opt then "#{name || "_"} = ..."
      when :keyreq then "#{name}:"
      when :key then "#{name}: ..."
      else "#{{ rest: "*", keyrest: "**", block: "&" }[kind]}#{name unless %i[* ** &].include?(name)}"
      end
    end
  end

  # @param signature [Parameters]
  # @return [Boolean] whether the signature has the parameters of this method
  def match?(signature)
    return signature.least >= least if open

    least == signature.least && most == signature.most && keywords_match?(signature) && [nil, signature.block].include?(block)
  end

  # @return [String, nil] a line for people, unless the signature matches
  def difference(name, signature)
    "#{name}#{text} is declared as #{signature.text}" unless match?(signature)
  end

  private

  # Where a method passes any keywords on, the signature may name them.
  def keywords_match?(signature)
    return required == signature.required && optional == signature.optional && !signature.any_keyword unless any_keyword

    named = signature.required + signature.optional - required - optional
    (required - signature.required).empty? && (optional - signature.optional).empty? && (signature.any_keyword || named.any?)
  end
end
