# frozen_string_literal: true

# A program whose code has no names of its own: blocks in the body of a class, as a router keeps them, and a template. Its profile goes
# to the given files.
#
#   ruby -Ilib viewer/test/programs/blocks.rb profile.pb.gz profile.html
require "profiler"

class App
  ROUTES = {
    hot: -> { 1_500_000.times { |number| number.to_s } },
    mild: -> { 300_000.times { |number| number.to_s } }
  }.freeze
end

template = "def _app_views_orders_index_html_erb__123_456\n  300_000.times { |number| number.to_s }\nend\n"
view = Class.new { class_eval(template, "/srv/shop/app/views/orders/index.html.erb", 1) }
profile = Profiler.run(mode: :cpu, timeline: true) do
  App::ROUTES.each_value(&:call)
  view.new._app_views_orders_index_html_erb__123_456
end
ARGV.each { |path| profile.save(path) }
