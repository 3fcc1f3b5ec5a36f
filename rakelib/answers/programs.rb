# frozen_string_literal: true

require_relative "servers"

module Answers
  # Programs that nobody here wrote, in the order of the table. By name: their Debian packages, the shell commands that
  # prepare a directory, and the command that is recorded there.
  Program = Struct.new(:name, :packages, :setup, :command)

  # Input for the programs that read documents.
  DOCUMENTS = <<~'SH'
    for i in $(seq 400); do printf '== Section %s\n\nSome *bold* text and `code` %s.\n\n* one\n* two\n\n' $i $i; done > doc.adoc
    for i in $(seq 300); do printf '# Title %s\n\nSome **bold** text, [a link](http://example.org).\n\n```ruby\ndef foo(a) = a + %s # comment\n```\n\n' $i $i; done > doc.md
    mkdir -p lib && cp -r "$(ruby -e 'puts RbConfig::CONFIG["rubylibdir"]')"/rdoc/markup lib/
  SH

  SITE = <<~'SH'
    mkdir -p site/_posts site/_layouts
    printf 'title: A site\n' > site/_config.yml
    printf '<html><body>{%% for post in site.posts %%}<a href="{{ post.url }}">{{ post.title | upcase }}</a>{%% endfor %%}{{ content }}</body></html>\n' > site/_layouts/default.html
    for i in $(seq 150); do printf -- '---\nlayout: default\ntitle: Post %s\n---\nSome **bold** text.\n' $i > site/_posts/2026-01-01-post-$i.md; done
  SH

  RSPEC = <<~'RUBY'
    class Price
      def round(times) = times.times { |number| (number * 1.07).round(2) }
      def fetch = sleep(0.05)
    end
    RSpec.describe Price do
      20.times { |it| it("rounds #{it}") { expect(subject.round(50_000)).to eq 50_000 } }
      it("fetches") { expect(subject.fetch).to be_an Integer }
    end
  RUBY

  MINITEST = <<~'RUBY'
    require "minitest/autorun"
    class PriceTest < Minitest::Test
      20.times { |it| define_method("test_#{it}") { assert_equal 50_000, 50_000.times { |number| (number * 1.07).round(2) } } }
      def test_waits = assert_operator(sleep(0.1), :>=, 0)
    end
  RUBY

  SEQUEL = <<~'RUBY'
    require "sequel"
    DB = Sequel.sqlite
    DB.create_table(:items) { primary_key :id; Integer :order_id; String :name }
    2_000.times { |it| DB[:items].insert(order_id: it % 50, name: "item #{it}") }
    class Orders
      def totals = (0...50).to_h { |it| [it, DB[:items].where(order_id: it).all.sum { |item| item[:name].size }] }
    end
    20.times { Orders.new.totals }
  RUBY

  SOCKET = <<~'RUBY'
    require "net/http"
    require "socket"
    server = TCPServer.new("127.0.0.1", 0)
    Thread.new { loop { client = server.accept; client.gets; sleep 0.2; client.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"); client.close } }
    class Rates
      def initialize(port) = @port = port
      def fetch = Net::HTTP.get(URI("http://127.0.0.1:#{@port}/"))
    end
    5.times { Rates.new(server.addr[1]).fetch }
  RUBY

  PARSE = <<~'RUBY'
    require "nokogiri"
    xml = "<orders>#{"<order id='1'><name>a</name><price>2</price></order>" * 20_000}</orders>"
    class Import
      def prices(document) = document.xpath("//order").map { |order| order.at_xpath("price").text.to_i }
      def run(xml) = prices(Nokogiri::XML(xml)).sum
    end
    3.times { Import.new.run(xml) }
  RUBY

  TEMPLATES = <<~'RUBY'
    require "slim"
    class Pages
      def text = Array.new(400) { |number| "p class=\"a\" text #{number}\n  b = number * #{number}" }.join("\n")
      def render(number) = Slim::Template.new { text }.render(nil, number: number)
    end
    8.times { |number| Pages.new.render(number) }
  RUBY

  PDF = <<~'RUBY'
    require "prawn"
    class Invoice
      def draw(number) = Prawn::Document.new { 40.times { |row| text "Invoice #{number}, row #{row}" } }.render
    end
    30.times { |number| Invoice.new.draw(number) }
  RUBY

  PROGRAMS = [
    ["asciidoctor", %w[asciidoctor], DOCUMENTS, "asciidoctor doc.adoc -o out.html"],
    ["kramdown with rouge", %w[kramdown ruby-rouge], DOCUMENTS, "kramdown --syntax-highlighter rouge doc.md"],
    ["yard", %w[yard], DOCUMENTS, "yardoc -n -q --no-cache lib"],
    ["rubocop", %w[rubocop], DOCUMENTS, "rubocop --cache false lib"],
    ["rdoc", %w[ruby], DOCUMENTS, "rdoc -q -o out lib"],
    ["jekyll", %w[jekyll], SITE, "jekyll build -q -s site -d out"],
    ["nanoc", %w[nanoc], "nanoc create-site site >/dev/null; for i in $(seq 100); do printf '<h1>%s</h1>' $i > site/content/p$i.html; done", "sh -c 'cd site && nanoc compile'"],
    ["puppet", %w[puppet-agent], "", "puppet apply --noop -e 'notify { hi: }'"],
    ["facter", %w[facter], "", "facter os"],
    ["coderay", %w[coderay], DOCUMENTS, "coderay lib/markup/parser.rb -html"],
    ["redcarpet", %w[ruby-redcarpet], DOCUMENTS, "redcarpet doc.md"],
    ["ronn", %w[ronn], DOCUMENTS, "ronn --html --pipe doc.md"],
    ["mustache", %w[ruby-mustache], "printf 'a: 1\n' > a.yml; for i in $(seq 3000); do printf 'x {{a}} y\n'; done > a.mustache", "mustache a.yml a.mustache"],
    ["haml", %w[ruby-haml], "for i in $(seq 2000); do printf '%%p{class: \"a\"} text\n'; done > a.haml", "haml a.haml"],
    ["racc", %w[ruby], "", "racc --version"],
    ["erb", %w[ruby], "for i in $(seq 5000); do printf '<%%= %s * 2 %%>\n' $i; done > a.erb", "erb a.erb"],
    ["irb", %w[ruby], "", "sh -c 'echo \"20.times { |i| [i] * 1000 }\" | irb'"],
    ["rake", %w[rake], "printf 'task(:import) { 3.times { IO.popen(\"sleep 0.2\").read } }\n' > Rakefile", "rake import"],
    ["rspec", %w[ruby-rspec], ["price_spec.rb", RSPEC], "rspec price_spec.rb"],
    ["minitest", %w[ruby-minitest], ["price_test.rb", MINITEST], "ruby price_test.rb"],
    ["sequel", %w[ruby-sequel ruby-sqlite3], ["orders.rb", SEQUEL], "ruby orders.rb"],
    ["net/http", %w[ruby], ["rates.rb", SOCKET], "ruby rates.rb"],
    ["bundle install --local", %w[bundler rake], "printf 'source \"https://rubygems.org\"\ngem \"rake\"\n' > Gemfile", "bundle install --local --quiet"],
    ["nokogiri", %w[ruby-nokogiri], ["import.rb", PARSE], "ruby import.rb"],
    ["prawn", %w[ruby-prawn], ["invoices.rb", PDF], "ruby invoices.rb"],
    ["slim", %w[ruby-slim], ["pages.rb", TEMPLATES], "ruby pages.rb"],
    *Servers::ROWS,
    ["a script that hangs", %w[ruby], "", "ruby -e 'sleep 3'"]
  ].map { |row| Program.new(*row) }.freeze
end
