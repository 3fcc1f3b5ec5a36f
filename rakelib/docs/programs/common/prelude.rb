# frozen_string_literal: true

# The app of the documents, for blocks of Ruby.

require "profiler"
require File.join(ENV.fetch("DOCS"), "comparison")

App = ->(_env) { [200, { "content-type" => "text/plain" }, ["hello\n"]] }

def work = Array.new(20_000) { |number| number.to_s * 2 }
def line = "a,b"
def parse(line = self.line) = line.split(",")
def import = work
def app = App
def request = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders" }
def url = "http://127.0.0.1:#{ENV.fetch("PORT")}"
def send_away(profile) = profile.dump(:pprof)

# A value that a comment shows.
def shown(value, text)
  Docs::Comparison.same_value?(value, text) or raise "shown #{text}\nbut it is #{value.inspect}"
end
