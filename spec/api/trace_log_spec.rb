# frozen_string_literal: true

RSpec.describe "Profiler.trace with a log of calls" do
  include_context "with a program"
  include_context "with a box"

  let(:prelude) { require_program("trace/log") }

  it "has a line for each call: its time, arguments and result by class and size, and its caller" do
    lines = run_json(<<~'RUBY')
      print_json(lines(args: true, returns: true) { order.save(7, note: "x" * 12, password: [1, 2], more: { a: 1 }); (order.save(nil, more: :raise) rescue nil) })
    RUBY
    place = %r{from \S*:\d+\z}
    expect(lines).to match([/\A[\d.]+ (us|ms)(, .*)?  Order#save\(id: Integer, note: String\(12 bytes\), password: Array\(2\), more: Hash\(1\)\) returned Array\(2\), #{place}/,
                            /  Order#save\(id: nil, note: nil, password: nil, more: Symbol\) raised IOError, #{place}/])
  end

  it "has the line of the caller, however the call ends" do
    lines = run_json(<<~'RUBY')
      class Order
        define_method(:defined) { |value| value } if RUBY_VERSION >= "3.3"
        alias defined any if RUBY_VERSION < "3.3"
        def yielding = yield
        def deep(number)
          number.zero? ? 1 : deep(number - 1)
        end
      end
      first = __LINE__
      all = lines("Order#save", args: true) { [1].each { order.save(1) }; (order.save(2, more: :raise) rescue nil) }
      all += lines("Order#defined", args: true) { order.defined(3); Thread.new { order.public_send(:defined, 4) }.join }
      all += lines("Order#yielding", args: true) { order.yielding { 5 }; order.yielding { break }; catch(:out) { order.yielding { throw :out } } }
      all += lines("Order#deep", args: true) { order.deep(1) }
      print_json(all.map { |line| Integer(line[/, from \S+:(\d+)\z/, 1]) - first })
    RUBY
    expect(lines).to eq([1, 1, 2, 2, 3, 3, 3, -3, 4])
  end

  it "shows the values of named arguments and of the result, and never a secret" do
    report = run_json(<<~'RUBY')
      long = { "api_key" => "abc", token: 5, a: [1, [2, [3]], "\e[31m\xFF", 4, 5, 6, 7], "z" * 200 => Hostile.new }
      print_json(shown: lines(show: %w[id note result]) { order.save(long, note: "y" * 400, password: "hidden") },
                 secret: error { Profiler.trace("Order#save", show: ["password"]) })
    RUBY
    expect(report[:shown]).to match([a_string_including('id: {"api_key" => [hidden], :token => [hidden], :a => [1, Array(2), "\\e[31m?", 4, 5, 2 more]')])
    expect(report[:shown].first).to include("note: \"#{"y" * 300}\" (400 bytes)", "password: String(6 bytes)", "returned [{").and(be_valid_encoding)
    expect(report[:shown].join).not_to include("hidden\"")
    expect(report[:secret]).to match(/ArgumentError: show: the value of "password" is not shown/)
  end

  it "shows instance variables of whatever the method is called on, and calls nothing of it" do
    lines, errors = program_json("trace/instance_variables")
    text = "\\[\"#{"x" * 60}\" \\(100 bytes\\), 2\\]"
    expect(lines).to match([/  Order#close with @state: "done", @other: Hostile, @gone: undefined, @état: undefined returned Liar, from /,
                            /  Order#fail_with\(state: Hash\(2\)\) with @state: \{:password => \[hidden\], :a => #{text}\} raised IOError, from /,
                            /  Order\.tally with @total: 7 returned 7, from /, /  Hostile#work with @state: :ready returned NilClass, from /,
                            /  Integer#thing with @state: undefined returned Integer/, /  Integer#thing with @state: undefined returned Integer/,
                            *[/  Struct#thing with @state: undefined returned #<anonymous subclass of Struct>/] * 2, /  Order#close with @state: 2 returned Integer/])
    expect(errors.first(2)).to all(match(/\AArgumentError: show: the value of "@\w+" is not shown, because its name looks like a secret\z/))
    expect(errors[2..9]).to all(match(/\AArgumentError: show: ".*" is not a name \(allowed: an argument, local variable or label such as id; an instance variable such as @id; a part such as id\[0\]; self; result; message\)\z/))
    expect(errors.last).to eq 0
  end

  it "hides what Rails hides in its logs" do
    expect(run_json(<<~'RUBY')).to match([/show: the value of "note" is not shown/, "none"])
      module Rails; def self.application = Struct.new(:config).new(Struct.new(:filter_parameters).new([:not, /x\d/, ->(*) {}])); end
      print_json([error { Profiler.trace("Order#save", show: ["note"]) { 1 } }, error { Profiler.trace("Order#save", show: ["id"]) { 1 } }])
    RUBY
  end

  # Ruby makes such messages by calling methods of the app.
  it "shows the message of the exception that left the call, and calls nothing for it" do
    lines = run_json(<<~'RUBY')
      class Order
        def failing(what)
          throw :out if what == :thrown # before the other one: until Ruby 3.3, nothing tells that an exception was rescued
          begin
            raise "rescued"
          rescue RuntimeError
            nil
          end
          case what
          when :missing then nil.total
          when :unknown then Object.new.instance_eval { no_such_name }
          else raise(*what)
          end
        end
      end
      class Loud < StandardError
        def message = abort("message was called")
        def to_s = abort("to_s was called")
      end
      whats = [[IOError, "closed stream"], [Loud, "quiet"], [Loud, Hostile.new], [IOError], [ArgumentError, "x" * 500], [NameError, "plain"], :missing, :unknown]
      print_json(lines("Order#failing", show: ["message"], when: "raised") do
        whats.each { |what| order.failing(what) rescue nil }
        catch(:out) { order.failing(:thrown) }
      end)
    RUBY
    expect(lines.map { |line| line[/raised .*(?=, from)/] })
      .to match(['raised IOError "closed stream"', 'raised Loud "quiet"', "raised Loud Hostile", "raised IOError nil", "raised ArgumentError \"#{"x" * 300}\" (500 bytes)",
                 'raised NameError "plain"', "raised NoMethodError :total of nil", "raised NameError :no_such_name of Object", "raised throw"])
  end

  it "calls nothing of a value, whatever it is" do
    lines = run_json(<<~'RUBY')
      cycle = []
      cycle << cycle << Liar.new("q" * 5)
      print_json([Hostile.new, Liar.new("abc"), cycle, Class.new.new, Object.new.freeze, 10**5_000, Struct.new(:inspect).new(1)].flat_map do |value|
        lines("Order#any", show: %w[value result], when: "value != 5 and not value == 'x'") { order.any(value) }
      end)
    RUBY
    expect(lines).to match(["(value: Hostile) returned Hostile", '(value: "abc") returned "abc"', '(value: [[Array(2), "qqqqq"], "qqqqq"]) ', "(value: #<anonymous subclass of Object>) ",
                            "(value: Object)", "(value: 1#{"0" * 59}...)", "(value: #<anonymous subclass of Struct>)"].map { |text| a_string_including(text) })
  end

  it "has only the calls that a condition lets through, and ends after so many of these" do
    report = run_json(<<~'RUBY')
      call = -> { 6.times { |number| order.outer(number) rescue nil } }
      count = ->(condition, **options) { lines("Order#outer", when: condition, **options, &call).size }
      slow = lines("Order#slow", when: "ms > 20 and waiting_ms > 20") { order.slow(0.001); order.slow(0.03) }
      limited = Profiler.trace("Order#outer", when: "number > 1", limit: 2, max_overhead: 1, &call)
      labelled = lines("Order#outer", when: "user == 7 and kind == 'a'") { Profiler.label(user: 7, kind: :a) { order.outer(2) }; order.outer(4) }
      print_json(raised: count.("raised"), class: count.("raised == 'ArgumentError' and number >= 3"), returned: count.("returned == \"Integer\""),
                 not: count.("not (number == 1 or number == 2)"), none: count.("number == nil"), text: count.("number == '1'"), slow: slow.size,
                 limited: limited.to_h.values_at(:log, :ended), labelled: labelled.size, labels: Profiler.trace("Order#outer", when: "usr == 1 and number == 1") { 1 }.labels)
    RUBY
    waits = RUBY_VERSION < "3.3" ? 0 : 1 # waiting is not measured before
    expect(report).to include(raised: 3, class: 2, returned: 3, not: 4, none: 0, text: 0, slow: waits, labelled: 1, labels: ["usr"])
    expect(report[:limited]).to match([have_attributes(size: 2), "it reached its limit of calls"])
  end

  it "lists the lines that a call ran, with their times and what they changed" do
    File.write(in_box("cart.rb"), <<~'RUBY')
      class Cart
        def total(rows, secret)
          sum = 0
          rows.each do |row|
            sum += row
            sleep 0.02 if row == 2
          end
          words = "a" * sum
          words.size
        end
        def short(number) = number
        def long = 1_000.times { |number|
          number.to_s
        }
      end
    RUBY
    report = run_json(<<~RUBY)
      load #{in_box("cart.rb").dump}
      print_json(lines("Cart#total", lines: true, args: true, show: ["sum"]) { Cart.new.total([1, 2], "abc") } + lines("Cart#long", lines: true) { Cart.new.long } +
                 [error { Profiler.trace("Cart#short", lines: true) }])
    RUBY
    time = /\d\S* .s/
    steps = report[1..8].map { |line| line.match(/\A *(\d+) +(#{time})  (.*?)(?:   +(.*))?\z/).captures }
    expect(steps.map { |number, _time, code, changes| [number.to_i, code, changes] }).to eq [
      [3, "sum = 0", "sum = 0"], [4, "rows.each do |row|", "row = Integer"], [5, "sum += row", "sum = 1"], [6, "sleep 0.02 if row == 2", "row = Integer"],
      [5, "sum += row", "sum = 3"], [6, "sleep 0.02 if row == 2", nil], [8, "words = \"a\" * sum", "words = String(3 bytes)"], [9, "words.size", nil]
    ]
    expect(steps[5][1]).to match(/\A(2\d|[3-9]\d)(\.\d+)? ms\z/)
    expect(report.join("\n")).to match(/after these 100 lines, by line:\n +13 +#{time}  number\.to_s +\d+ times more$/)
    expect(report.last).to eq "ArgumentError: Cart#short is written on one line, so there are no lines to follow"
  end

  it "has the calls of all methods of a pattern in their order" do
    logged, json = run_json(<<~'RUBY')
      trace = Profiler.trace("Order#*", args: true, max_overhead: 1, when: "number > 0") { [1, 0, 2].each { |number| order.outer(number) rescue nil } }
      json = trace.to_h
      print_json([trace.log.map { |line| line[/Order#\w+\(.*?\)/] }, [json[:log].size, json[:methods].any? { |it| it.key?(:log) }]])
    RUBY
    expect(logged).to eq(%w[Order#inner Order#outer Order#inner Order#outer].map { |name| "#{name}(number: Integer)" })
    expect(json).to eq([4, false])
  end

  it "is a marker of running sessions, and lets the flight recorder save what came before" do
    report = run_json(<<~RUBY)
      without = error { Profiler.trace("Order#slow", save: true) { } }
      recorder = Profiler.flight_recorder(out: #{in_box("flights").inspect}, minutes: 0.1)
      burn(20)
      session = Profiler.start(mode: :cpu, timeline: true)
      Profiler.trace("Order#slow", when: "seconds > 0", save: true) { order.slow(0.03); order.slow(0) }
      wait_for { recorder.saved == 1 }
      reason = Dir[#{in_box("flights/*").inspect}].map { |file| Profiler::Profile.load(file).meta[:metadata]["saved"] }
      recorder.stop
      print_json(without: without, markers: session.stop.markers.map { |it| [it.name, it.duration.between?(30_000_000, 5_000_000_000)] }, reason: reason)
    RUBY
    expect(report[:without]).to eq "ArgumentError: save: true needs a flight recorder in this process: see Profiler.flight_recorder"
    expect(report).to include(markers: [["Order#slow", true]], reason: [match(/\AOrder#slow took \d.* ms, .* ms waiting\z|\AOrder#slow took \d.* ms\z/)])
  end

  it "refuses something that is not a condition, and says why" do
    errors = run_json(<<~'RUBY')
      texts = ["", "ms >", "ms > x", "ms + 1", "5 > ms", "(ms > 1", "ms > 1)", "ms > 1 ms", "`id`", "and", "ms == \u0000", "ms > 1" * 300, "(" * 100 + "ms", "not " * 100 + "ms", 5]
      print_json(texts.map { |text| error { Profiler.trace("Order#save", when: text) } } +
        [error { Profiler.trace("Order#save", args: 1) }, error { Profiler.trace("Order#save", show: "id") }, error { Profiler.trace("Order#save", arg: true) }])
    RUBY
    expect(errors).to all(start_with("ArgumentError: "))
    expect(errors.first(15)).to all(match(/is not a condition: .* \(allowed: such as/m))
    expect(errors.last(3)).to match([/args: 1 is not allowed/, /show: "id" is not a list of names/, /unknown keyword: :arg \(allowed: limit/])
  end

  it "leaves the durations of the calls as they are, and its own exceptions inside" do
    report = run_json(<<~'RUBY')
      class Order; def nothing(value) = value; end
      plain = Profiler.trace("Order#nothing", max_overhead: 1) { 2_000.times { order.nothing(1) } }.percentiles(50).first
      logged = Profiler.trace("Order#nothing", max_overhead: 1, args: true) { 2_000.times { order.nothing(1) } }
      broken = Thread.new { Thread.current.freeze; Profiler.trace("Order#nothing", args: true, max_overhead: 1) { order.nothing(3) } }.value
      print_json(plain: plain, logged: logged.percentiles(50).first, dropped: logged.to_h[:log_dropped], broken: [broken.value, broken.log])
    RUBY
    expect(report[:logged]).to be < report[:plain] + 1_000
    expect(report[:dropped]).to be > 1_000
    expect(report[:broken]).to eq([3, []])
  end

  it "delivers what other threads raise, once, after its own work" do
    report = run_json(<<~'RUBY')
      class Stop < StandardError; end
      arrived = 0
      trace = Profiler.trace("Order#outer", args: true, when: "number == 2", max_overhead: 1) do
        50.times do
          ready = Queue.new
          thread = Thread.new { ready << true; loop { order.outer(2) } rescue Stop; arrived += 1 }
          ready.pop
          sleep 0.002
          thread.raise(Stop)
          thread.join
        end
      end
      sums = trace.to_h
      print_json([arrived, ObjectSpace.each_object(TracePoint).count(&:enabled?), sums[:calls] - sums[:finished], sums[:began_before]])
    RUBY
    expect(report).to eq([50, 0, 0, 0])
  end
end
