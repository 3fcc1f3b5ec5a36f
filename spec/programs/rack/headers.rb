# frozen_string_literal: true

# Profiles responses whose headers are a Hash, pairs, something with each, or nil. Prints the headers that clients get.
require_relative "../helpers"
require_relative "shop"

class Pairs
  def each = ([["a", "b"], ["set-cookie", "c"]].each { |name, value| yield name, value }; self)
end

kinds = { hash: { "a" => "b" }.freeze, pairs: [["a", "b"], ["a", "c"]].freeze, each: Pairs.new, none: nil }
answers = kinds.transform_values do |headers|
  app = ->(env) { Shop.serve; [200, headers, env["QUERY_STRING"].empty? ? [] : ["x"].each] }
  ["profile=cpu", "profile=cpu;interval=3"].map do |query|
    got = get(middleware(app), query)[1]
    pairs = got.is_a?(Array) || got.is_a?(Hash) ? got.to_a : got.class.name
    pairs.map { |name, value| name.start_with?("x-profiler") ? name : [name, value] }
  end + [get(middleware(app, sample_rate: 0.0), "").fetch(1).equal?(headers)]
end
hijacked = get(middleware(->(_env) { [200, [["rack.hijack", ->(io) { io << "hijacked" }]], []] }), "profile=cpu")[1]
io = +""
hijacked.find { |name, _| name == "rack.hijack" }[1].call(io)
print_json([answers, io])
