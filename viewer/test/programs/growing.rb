# frozen_string_literal: true

# A program that keeps a line for each request, and what it once looked up; what is live at two points goes to the given files.
#
#   ruby -Ilib viewer/test/programs/growing.rb before.pb.gz after.pb.gz
require "profiler"

Line = Struct.new(:text)
Country = Struct.new(:name)

class Countries
  def initialize = @all = Array.new(300) { |it| Country.new("country #{it}") }
  def forget = @all.pop(100)
end

class Journal
  def initialize = @lines = []
  def note(number) = @lines << Line.new("request #{number}")
end

session = Profiler::Session.start(mode: :heap, every: 1)
countries = Countries.new
journal = Journal.new
200.times { |it| journal.note(it) }
session.snapshot.save(ARGV[0])
countries.forget
1_000.times { |it| journal.note(it) }
session.stop.save(ARGV[1])
