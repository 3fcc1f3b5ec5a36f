# frozen_string_literal: true

RSpec.describe "Profiler.trace and the values of a call" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("trace/values") }

  it "shows a part of an argument, of the result and of the object, its class, and labels" do
    lines = run_json(<<~'RUBY')
      request = Object.new
      request.instance_variable_set(:@env, { id: 7 })
      env = { "PATH_INFO" => "/orders", sym: { a: 1 }, 7 => [1, 2], Liar.new("liar") => 3, nil => Hostile.new }
      names = %w[env[PATH_INFO] env[sym] env[sym][a] env[7][1] env[liar] env[no][a].@b rest[0] rest[5] self @request.@env[id] result[0] endpoint nope]
      all = Profiler.label(endpoint: "orders#index") { lines(show: names) { Shop.new(request).call(env, 5); Branch.new.call(Hostile.new) } }
      module Tools; def self.find(id) = id; end
      all += Profiler.trace("Tools.find", show: ["self"], when: "self == 'Tools'") { Tools.find(1) }.log.map { |line| line[/  (Tools.*), from/, 1] }
      print_json(all + lines("Shop.find", show: ["self"]) { Branch.find(1) } + lines(show: %w[rest]) { Shop.new.call(1, Shop, Kernel) })
    RUBY
    expect(lines).to eq [
      'Shop#call(env: Hash(5), env[PATH_INFO]: "/orders", env[sym]: {:a => 1}, env[sym][a]: 1, env[7][1]: 2, env[liar]: 3, env[no][a].@b: undefined, rest: Array(1), rest[0]: 5, rest[5]: nil) ' \
      'with self: Shop, @request.@env[id]: 7, endpoint: "orders#index" returned Array(2) with result[0]: 200',
      "Shop#call(env: Hostile, env[PATH_INFO]: undefined, env[sym]: undefined, env[sym][a]: undefined, env[7][1]: undefined, env[liar]: undefined, env[no][a].@b: undefined, rest: Array(0), rest[0]: nil, rest[5]: nil) " \
      'with self: Branch, @request.@env[id]: undefined, endpoint: "orders#index" returned Array(2) with result[0]: 200',
      "Tools.find with self: Tools returned Integer", "Shop.find with self: Branch returned Integer", "Shop#call(env: Integer, rest: [Shop, Kernel]) returned Array"
    ]
  end

  it "compares these in a condition" do
    counts, labels = run_json(<<~'RUBY')
      env = { "PATH_INFO" => "/orders", id: nil }
      conditions = ["env[PATH_INFO] == '/orders'", "env[id] == nil", "self == 'Shop'", "self != 'Shop'", "@request[a] == 1", "not @request[a]", "result[0] == 200", "result == nil", "rest[0] > 4 and rest[1] == nil", "a.b == 1"]
      counts = conditions.map { |condition| lines(when: condition) { Shop.new({ a: 1 }).call(env, 5); Branch.new.call({ id: 5 }); Branch.new.call(Hostile.new) }.size }
      print_json([counts, Profiler.trace("Shop#call", when: conditions.join(" and ")) { }.labels])
    RUBY
    expect(counts).to eq([1, 2, 1, 2, 1, 2, 3, 0, 1, 0])
    expect(labels).to eq(["a.b"])
  end

  it "hides a secret wherever its name is, and in whatever encoding or class" do
    errors, line = run_json(<<~'RUBY')
      module Rails; def self.application = Struct.new(:config).new(Struct.new(:filter_parameters).new([:tax, "card.code"])); end
      names = %w[env[HTTP_COOKIE] env[a][password] @request.@token result[secret] rest[0].@api_key env[TAX] @card_code]
      errors = names.map { |name| error { Profiler.trace("Shop#call", show: [name]) { 1 } } }
      keys = ["password".encode("UTF-16LE"), "password\xFF", "token\xFF".b, Liar.new("passwords"), :Tax_ID]
      print_json([errors, lines(show: %w[env result]) { Shop.new.call(keys.to_h { |key| [key, "geheim"] }) }])
    RUBY
    expect(errors).to all(match(/\AArgumentError: show: the value of ".*" is not shown, because its name looks like a secret\z/))
    expect(line.join.scan("[hidden]").size).to eq(10)
    expect(line.join).not_to include("geheim")
  end

  it "calls nothing of a value, takes no time for a large one, and shows texts of all encodings" do
    lines, seconds = run_json(<<~'RUBY')
      impostor = Impostor.allocate
      Hash.instance_method(:[]=).bind_call(impostor, "k", Trap.allocate)
      default = Hash.new { abort "asked" }.compare_by_identity
      texts = ["h\u00e9".encode("UTF-16LE"), "\xd8\x00".dup.force_encoding("UTF-16BE"), "abc".dup.force_encoding("UTF-7"), "\xff".b, "\xa4\xa2".dup.force_encoding("EUC-JP")]
      large = [7**3_000_000, "x" * 50_000_000, (1..500_000).to_h { |number| [number, 1] }]
      show = %w[env env[k] env[k][0] result self rest[99999999999999999999]]
      began = now
      all = [impostor, default, *texts, *large].flat_map { |value| lines(show: show, when: "env != 'x' and env[k][0] == nil and result != 1 and self != 'x'") { Shop.new.call(value) } }
      print_json([all.map { |line| line[/env: (.*?), env\[k\]/, 1] }, (now - began).fdiv(1_000_000_000)])
    RUBY
    expect(lines).to eq(['{"k" => []}', "{}", '"hé"', '"?"', '"abc"', '"?"', '"あ"', "Integer(8422065 bits)", "\"#{"x" * 300}\" (50000000 bytes)", "{1 => 1, 2 => 1, 3 => 1, 4 => 1, 5 => 1, 499995 more}"])
    expect(seconds).to be < 2
  end

  it "calls nothing of a BasicObject whose method it follows, nor of an exception that leaves it" do
    lines = run_json(<<~'RUBY')
      class Hostile
        def work(other, pin)
          token = other
          mine = self
          ::Kernel.raise(::Bad, "geheim") if pin == 2
          mine
        end
      end
      class Bad < StandardError
        (instance_methods(false) + %i[message to_s inspect full_message detailed_message backtrace_locations]).each { |name| define_method(name) { |*| abort "called #{name}" } }
        singleton_class.class_eval { %i[name to_s inspect == hash].each { |name| define_method(name) { |*| abort "called #{name} of the class" } } }
      end
      show = %w[other mine result self other[0] result[0]]
      trace = Profiler.trace("Hostile#work", max_overhead: 1, lines: true, args: true, returns: true, show: show, when: "other != 1 and self == 'Hostile' and result != 3 and raised != 'x'") do
        hostile = Hostile.new
        hostile.work([hostile], 1)
        begin
          hostile.work(hostile, 2)
        rescue Bad
        end
      end
      abort "dropped" if trace.to_h[:log_dropped] > 0
      print_json(trace.log.map { |line| line.sub(/\A.*? (?=Hostile#)|\A +\d+ +\S+ \w+  /, "").sub(/, from .*/, "").squeeze(" ") })
    RUBY
    expect(lines.join("\n")).to include("Hostile#work(other: [Hostile], other[0]: Hostile, pin: Integer) with self: Hostile returned Hostile with result[0]: undefined",
                                        "Hostile#work(other: Hostile, other[0]: undefined, pin: Integer) with self: Hostile raised Bad")
    expect(lines.join).not_to include("geheim")
  end

  it "names the nearest line of the app, if a library calls" do
    lines = run_json(<<~'RUBY')
      require "delegate"
      trace = Profiler.trace("Shop#call", args: true) { SimpleDelegator.new(Shop.new).call(1); Profiler::Middleware.new(Shop.new).call({}); Shop.new.call(1) }
      print_json(trace.log.map { |line| line[/, from (.*)/, 1].gsub(/:\d+/, "") })
    RUBY
    expect(lines).to match([%r{\A(\S+) via /\S+/delegate\.rb\z}, %r{\A\S+ via /\S+/profiler/middleware\.rb\z}, %r{\A\S+\z}])
    expect(lines.last).to eq(lines.first[/\S+/])
  end
end
