# frozen_string_literal: true

require "json"

# A program under test: a child that has the profiler, and the methods of spec/programs/helpers.rb. A short program is given as text.
# A longer one has a file in spec/programs, and requires the helpers itself.
RSpec.shared_context "with a program" do
  # Without its first comment, which would also freeze the literals of the program.
  helpers = File.read(File.join(Child::ROOT, "spec/programs/helpers.rb")).delete_prefix("# frozen_string_literal: true\n")

  # A spec can +let(:prelude)+ for what its programs have in common.
  #
  # @param child [Symbol] the method that runs the code, such as {Child#ruby_child}
  # @param err [#matches?] what it prints on stderr
  # @return [String] what it prints
  define_method(:run) do |code, child: :ruby_child, err: eq(""), **options|
    output_of(public_send(child, "-e", "#{helpers}#{prelude}\n#{code}", **options), err)
  end

  # Runs a program that ends with +print_json+.
  #
  # @return [Object] its result; the keys of a Hash are Symbols
  def run_json(code, **options)
    JSON.parse(run(code, **options), symbolize_names: true)
  end

  # Runs a program of spec/programs.
  #
  #   run_program("rotation/parts", "500", env: { "SEED" => "1" })
  #
  # @param err [#matches?] what it prints on stderr
  # @return [String] what it prints
  def run_program(name, *arguments, err: eq(""), **options)
    output_of(ruby_child("spec/programs/#{name}.rb", *arguments, **options), err)
  end

  # Runs a program of spec/programs that ends with +print_json+.
  #
  # @return [Object] see {#run_json}
  def program_json(name, *arguments, **options)
    JSON.parse(run_program(name, *arguments, **options), symbolize_names: true)
  end

  let(:prelude) { "" }

  private

  def output_of(result, err)
    expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 4_000]}"
    expect(result.err).to err
    result.out
  end
end
