# frozen_string_literal: true

# Two versions of a program that makes invoices. The later one looks articles up in a list, where the earlier one had a table,
# and no longer checks the numbers of customers.
#
#   ruby -Ilib viewer/test/programs/versions.rb before.pb.gz after.pb.gz
require "profiler"

SECONDS = Float(ENV.fetch("SECONDS", 1.5))

class Catalog
  Article = Struct.new(:number, :price)

  def initialize(version)
    @version = version
    @articles = Array.new(400) { |number| Article.new("A#{number}", number % 90) }
    @table = @articles.to_h { |it| [it.number, it] }
  end

  def find(number)
    @version == :before ? @table.fetch(number) : find_in_list(number)
  end

  private

  def find_in_list(number) = @articles.find { |it| it.number == number }
end

class Invoice
  def initialize(catalog, customer)
    @catalog = catalog
    @customer = customer
  end

  def total
    @customer.each_char.sum { |it| it.ord % 7 } + lines.sum { |number| @catalog.find(number).price }
  end

  def render = lines.map { |number| format("%-10s %10.2f", number, @catalog.find(number).price) }.join("\n")

  private

  def lines = Array.new(30) { |line| "A#{(line * 13) % 400}" }
end

class Customers
  def check(number) = number.scan(/\d/).map(&:to_i).each_slice(2).sum { |one, other| (one * 3) + other.to_i } % 10
end

def work(version)
  catalog, customers = Catalog.new(version), Customers.new
  till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + SECONDS
  number = 0
  while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
    customers.check("K-#{number += 1}-29384-2938") if version == :before
    invoice = Invoice.new(catalog, "customer #{number}")
    invoice.total
    Profiler.label(view: "invoice") { invoice.render }
  end
end

%i[before after].zip(ARGV).each do |version, out|
  Profiler.run(mode: %i[cpu allocations], out: out) { Thread.new { work(version) }.tap { |it| it.name = "invoices" }.join }
end
