# frozen_string_literal: true

RSpec.describe "Profiler.trace and the values of a call" do
  include_context "with a program"
  include_context "with a box"

  prelude = <<~'RUBY'
    class Hostile < BasicObject
      def method_missing(name, *) = ::Kernel.abort("called #{name}")
    end
    # Classes whose objects end the process if any of their methods is called, but for those that Ruby itself needs for a key of a Hash.
    Liar, Impostor, Trap = [String, Hash, Array].map do |ancestor|
      Class.new(ancestor) { (instance_methods - %i[__send__ __id__ object_id hash eql?]).each { |name| define_method(name) { |*| abort "called #{name}" } } }
    end
    class Shop
      class << self
        %i[name to_s inspect ==].each { |name| define_method(name) { |*| abort "called #{name} of the class" } }
        def find(id) = id
      end
      def initialize(request = nil) = @request = request
      def call(env, *rest) = [200, env]
    end
    class Branch < Shop; end
    def lines(name = "Shop#call", **options, &block)
      trace = Profiler.trace(name, max_overhead: 1, **options, &block)
      abort "dropped" if trace.to_h[:log_dropped] > 0
      trace.log.map { |line| line[/  (Shop.*), from /, 1] }
    end
  RUBY
  let(:prelude) { prelude }

  def report_of(code) = JSON.parse(run(code), symbolize_names: true)

  it "hides a secret wherever its name is, and in whatever encoding or class" do
    errors, line = report_of(<<~'RUBY')
      module Rails; def self.application = Struct.new(:config).new(Struct.new(:filter_parameters).new([:tax, "card.code"])); end
      names = %w[TAX @card_code]
      errors = names.map { |name| error { Profiler.trace("Shop#call", show: [name]) { 1 } } }
      keys = ["password".encode("UTF-16LE"), "password\xFF", "token\xFF".b, Liar.new("passwords"), :Tax_ID]
      print_json([errors, lines(show: %w[env result]) { Shop.new.call(keys.to_h { |key| [key, "geheim"] }) }])
    RUBY
    expect(errors).to all(match(/\AArgumentError: show: the value of ".*" is not shown, because its name looks like a secret\z/))
    expect(line.join.scan("[hidden]").size).to eq(10)
    expect(line.join).not_to include("geheim")
  end

  it "calls nothing of a value, takes no time for a large one, and shows texts of all encodings" do
    lines, seconds = report_of(<<~'RUBY')
      impostor = Impostor.allocate
      Hash.instance_method(:[]=).bind_call(impostor, "k", Trap.allocate)
      default = Hash.new { abort "asked" }.compare_by_identity
      texts = ["h\u00e9".encode("UTF-16LE"), "\xd8\x00".dup.force_encoding("UTF-16BE"), "abc".dup.force_encoding("UTF-7"), "\xff".b, "\xa4\xa2".dup.force_encoding("EUC-JP")]
      large = [7**3_000_000, "x" * 50_000_000, (1..500_000).to_h { |number| [number, 1] }]
      show = %w[env result]
      began = now
      all = [impostor, default, *texts, *large].flat_map { |value| lines(show: show, when: "env != 'x'") { Shop.new.call(value) } }
      print_json([all.map { |line| line[/env: (.*?), rest/, 1] }, (now - began).fdiv(1_000_000_000)])
    RUBY
    expect(lines).to eq(['{"k" => []}', "{}", '"hé"', '"?"', '"abc"', '"?"', '"あ"', "Integer(8422065 bits)", "\"#{"x" * 300}\" (50000000 bytes)", "{1 => 1, 2 => 1, 3 => 1, 4 => 1, 5 => 1, 499995 more}"])
    expect(seconds).to be < 2
  end
end
