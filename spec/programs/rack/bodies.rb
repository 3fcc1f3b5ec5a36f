# frozen_string_literal: true

# Profiles a response whose body computes while it is read and closed. Prints what clients can call, and what the profile has.
require_relative "../helpers"
require_relative "shop"

body = Class.new do
  def each = %w[a b].each { |it| Shop.send_part; yield it }
  def to_path = "/a"
  def close = Shop.tidy
end
app = middleware(->(env) { Shop.serve; [200, {}, body.new] })
response = get(app, "profile=cpu")
answers = %i[each to_path to_ary call close].select { |it| response[2].respond_to?(it) }
burn(50) # of the server
parts = []
response[2].each { |it| parts << it }
open = RESULTS.size
response[2].close
burn(50)
path = response[2].to_path
response[2].close
result = RESULTS.first
print_json(answers: answers, parts: parts, open: open, names: names(result), more_ms: more_ms, path: path,
           closed: RESULTS.size)
