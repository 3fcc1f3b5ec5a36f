# frozen_string_literal: true

# Profiles responses that no app should return. Prints whether each came back as the app returned it.
require_relative "../helpers"
require_relative "permitted"

class Raising
  def each = raise("the app's each")
  def to_hash = raise("the app's to_hash")
end

class Mute < BasicObject; end
class Own < Hash; def key?(_) = raise("the app's key?"); end
class Odd < Numeric; def to_s = raise("the app's to_s"); end
Profiler.start
mute = Mute.new
headers = [5, "a: b", :a, true, Mute.new, Raising.new, Own.new, [5], [[1, 2, 3]], Object.new, (1..3), Odd.new]
responses = headers.map { |value| [200, value, []] }
responses += [mute, nil, 5, [], [200], [200, {}, [], 1], [mute, {}, []], [Odd.new, {}, []], [[], {}, mute],
              Struct.new(:a).new(1), "200", { a: 1 }]
same = ["profile=cpu", "profile=cpu;interval=3", "profile=cpu&stream", ""].map do |query|
  responses.map do |response|
    response = [*response.first(2), ["x"].each] if query.end_with?("stream") && Array === response && response.size == 3
    app = middleware(->(_env) { response })
    got = get(app, query)
    next got.equal?(response) unless Array === response && response.size == 3

    extended = got.size == 3 && (Hash === got[1] ? got[1].keys.grep(/x-profiler/).any? : Array === got[1])
    as_returned = got.zip(response).each_with_index.all? do |(ours, theirs), place|
      ours.equal?(theirs) || (place == 1 && extended) || (place == 2 && !(Array === theirs))
    end
    error { got[2].close } unless Array === got[2]
    as_returned
  end
end
print_json(same: same.map(&:uniq), running: (Profiler.stop; open_sessions))
