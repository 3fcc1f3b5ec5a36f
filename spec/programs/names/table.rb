# frozen_string_literal: true

# Every kind of method that Ruby has, each called once with a sample taken inside of it: prints, as JSON, what
# was expected and what the profile and Profiler.name_of say.
require "json"
require "profiler"

# Takes a sample of this thread, here.
def tick = Profiler::Testing.handler_ns(16)

CASES = {} # case => [expected name, expected class name, what to run, the method itself if there is one]

def expect_name(name, class_name = name[/\A.+(?=#)/m], method: nil, &run)
  title = caller_locations(1, 1).first.lineno.to_s
  title += "'" while CASES.key?(title)
  CASES[title] = [name, class_name.to_s, run, method]
end

at_least = ->(version) { (RUBY_VERSION.split(".").map(&:to_i) <=> version) >= 0 }

# --- Classes and modules with names.
class Foo
  def plain = tick
  def self.on_class = tick
  class << self
    def in_singleton = tick
  end
  def blocks = [1].each { [2].map { tick } }
  def rescued = (raise "x" rescue tick)
  def ensured
    1
  ensure
    tick
  end
  def evaluated = eval("tick")
  def evaluated_elsewhere = eval("tick", nil, "/nowhere/else.rb", 7)
  def made_lambda = -> { tick }
  def in_instance_eval = Object.new.instance_eval { Kernel.instance_method(:send).bind_call(self, :tick) }
  def in_fiber = Fiber.new { tick }.resume
  def in_thread = Thread.new { Profiler.label(case: Thread.current[:case] || $case) { tick } }.join
  def aliased = tick
  alias other_name aliased
  alias_method :third_name, :aliased
  def method_missing(name, *) = name == :missing ? tick : super
  def respond_to_missing?(*) = true
  private def hidden = tick
  protected def guarded = tick
end
class Sub < Foo; end

module Mod
  def mixed = tick
  def self.on_module = tick
  module_function def both_ways = tick
end
class Including; include Mod; end
module Prepended
  def over = super
end
class Under
  def over = tick
  prepend Prepended
end
module Outer
  class Inner
    def deep = tick
    def self.deep = tick
  end
end

expect_name("Foo#plain", method: Foo.instance_method(:plain)) { Foo.new.plain }
expect_name("Foo#plain", method: Sub.new.method(:plain)) { Sub.new.plain }
expect_name("Foo.on_class", "#<singleton of Foo>", method: Foo.method(:on_class)) { Foo.on_class }
expect_name("Foo.on_class", "#<singleton of Foo>", method: Sub.method(:on_class)) { Sub.on_class }
expect_name("Foo.in_singleton", "#<singleton of Foo>") { Foo.in_singleton }
expect_name("Foo#blocks") { Foo.new.blocks }
expect_name("Foo#rescued") { Foo.new.rescued }
expect_name("Foo#ensured") { Foo.new.ensured }
expect_name("Foo#evaluated") { Foo.new.evaluated }
expect_name("Foo#evaluated_elsewhere") { Foo.new.evaluated_elsewhere }
expect_name("Foo#made_lambda") { Foo.new.made_lambda.call }
expect_name("Foo#in_fiber") { Foo.new.in_fiber }
expect_name("Foo#aliased", method: Foo.instance_method(:aliased)) { Foo.new.aliased }
expect_name("Foo#aliased", method: Foo.instance_method(:other_name)) { Foo.new.other_name }
expect_name("Foo#aliased", method: Foo.new.method(:third_name)) { Foo.new.third_name }
expect_name("Foo#method_missing") { Foo.new.missing }
expect_name("Foo#hidden", method: Foo.instance_method(:hidden)) { Foo.new.send(:hidden) }
expect_name("Foo#guarded") { Foo.new.send(:guarded) }
expect_name("Mod#mixed", method: Including.instance_method(:mixed)) { Including.new.mixed }
expect_name("Mod#mixed") { Object.new.extend(Mod).mixed }
expect_name("Mod.on_module", "#<singleton of Mod>") { Mod.on_module }
expect_name("Mod.both_ways", "#<singleton of Mod>", method: Mod.method(:both_ways)) { Mod.both_ways }
expect_name("Mod#both_ways", method: Mod.instance_method(:both_ways)) { Including.new.send(:both_ways) }
expect_name("Under#over") { Under.new.over }
expect_name("Outer::Inner#deep") { Outer::Inner.new.deep }
expect_name("Outer::Inner.deep", "#<singleton of Outer::Inner>") { Outer::Inner.deep }
expect_name("Array#each", method: [].method(:each))
expect_name("Kernel.Integer", "#<singleton of Kernel>", method: Kernel.method(:Integer))
expect_name("IO.open", "#<singleton of IO>", method: File.method(:open))
expect_name("Class#new", method: Foo.method(:new))
def topmost = tick
expect_name("Object#topmost", method: method(:topmost)) { topmost }
def self.of_main = tick
expect_name("#<instance of Object>.of_main", "#<singleton of #<instance of Object>>") { TOPLEVEL_BINDING.receiver.of_main }
expect_name("block in <main>", "") { tick }

# --- Singletons.
object = Foo.new
def object.own = tick
expect_name("#<instance of Foo>.own", "#<singleton of #<instance of Foo>>", method: object.method(:own)) { object.own }
string = +"text"
def string.own = tick
expect_name("#<instance of String>.own", "#<singleton of #<instance of String>>") { string.own }
of_singleton = object.singleton_class
def of_singleton.own = tick
expect_name("#<singleton of #<instance of Foo>>.own", "#<singleton of #<singleton of #<instance of Foo>>>") { of_singleton.own }
of_class = Foo.singleton_class
def of_class.own = tick
expect_name("#<singleton of Foo>.own", "#<singleton of #<singleton of Foo>>", method: of_class.method(:own)) { of_class.own }

# --- What has no name.
anonymous = Class.new { def x = tick; def self.y = tick }
anonymous_sub = Class.new(Foo) { def x = tick; def self.y = tick }
expect_name("#<anonymous subclass of Object>#x", method: anonymous.instance_method(:x)) { anonymous.new.x }
expect_name("#<anonymous subclass of Object>.y", "#<singleton of #<anonymous subclass of Object>>") { anonymous.y }
expect_name("#<anonymous subclass of Foo>#x") { anonymous_sub.new.x }
expect_name("#<anonymous subclass of Foo>.y", "#<singleton of #<anonymous subclass of Foo>>") { anonymous_sub.y }
nested = Class.new(anonymous_sub) { def z = tick }
expect_name("#<anonymous subclass of #<anonymous subclass of Foo>>#z") { nested.new.z }
instance = anonymous_sub.new
def instance.own = tick
expect_name("#<instance of #<anonymous subclass of Foo>>.own", "#<singleton of #<instance of #<anonymous subclass of Foo>>>") { instance.own }
basic = Class.new(BasicObject) { def x = ::TOPLEVEL_BINDING.receiver.__send__(:tick) }
expect_name("#<anonymous subclass of BasicObject>#x") { basic.new.x }
mod = Module.new { def x = tick; def self.y = tick }
expect_name("#<anonymous module>#x") { Object.new.extend(mod).x }
expect_name("#<anonymous module>.y", "#<singleton of #<anonymous module>>") { mod.y }
mod.const_set(:Nested, Class.new { def x = tick; def self.y = tick })
expect_name("#<anonymous module>::Nested#x") { mod::Nested.new.x }
expect_name("#<anonymous module>::Nested.y", "#<singleton of #<anonymous module>::Nested>") { mod::Nested.y }
anonymous.const_set(:Nested, Class.new { def x = tick })
expect_name("#<anonymous class>::Nested#x") { anonymous::Nested.new.x }
Gone = Class.new { def x = tick }
gone = Object.send(:remove_const, :Gone)
expect_name("Gone#x") { gone.new.x }
copy = Foo.dup
expect_name("#<anonymous subclass of Object>#plain") { copy.new.plain }
Point = Struct.new(:a) { def x = tick }
expect_name("Point#x") { Point.new(1).x }
point = Struct.new(:a) { def x = tick }
expect_name("#<anonymous subclass of Struct>#x") { point.new(1).x }
if at_least[[3, 2]]
  Place = Data.define(:a) { def x = tick }
  expect_name("Place#x") { Place.new(1).x }
end
if at_least[[3, 3]]
  called = Class.new { def x = tick; def self.y = tick }.set_temporary_name("called<1>")
  expect_name("called<1>#x") { called.new.x }
  expect_name("called<1>.y", "#<singleton of called<1>>") { called.y }
end

# --- Refinements.
module Refining
  refine(Foo) { def refined = tick }
  refine(Foo.singleton_class) { def refined_too = tick }
  refine(String) { define_method(:made_refined) { tick } }
end
module Using
  using Refining
  def self.a = Foo.new.refined
  def self.b = Foo.refined_too
  def self.c = "".made_refined
end
expect_name("#<refinement Refining of Foo>#refined") { Using.a }
expect_name("#<refinement Refining of #<singleton of Foo>>#refined_too") { Using.b }
expect_name("#<refinement Refining of String>#made_refined") { Using.c }
class Foo
  define_method(:overridden) { tick }
end
module Overriding
  refine(Foo) { def overridden = super }
end
expect_name("Foo#overridden", method: Foo.instance_method(:overridden)) { Foo.new.overridden }

# --- define_method.
class Made
  define_method(:simple) { tick }
  define_method(:with_block) { [1].each { [2].each { tick } } }
  define_method(:with_rescue) { begin; raise "x"; rescue StandardError; [1].each { tick }; end }
  %w[one two].each { |name| define_method("loop_#{name}") { tick } }
  %w[a b c d e].each { |name| define_method("many_#{name}") { tick } }
  define_singleton_method(:on_class) { tick }
  def self.macro(name) = define_method(name) { tick }
  macro :by_macro
  define_method(:inner) { self.class.send(:define_method, :made_inside) { tick } }
  define_method(:original) { tick }
  alias copied original
  private define_method(:made_private) { tick }
end
Made.new.inner
made_object = Made.new
made_object.define_singleton_method(:own) { tick }
made_anonymous = Class.new(Made) { define_method(:x) { tick } }
module Included
  def self.included(base) = base.define_method(:hooked) { tick }
end
class WithHook; include Included; end
class WithHookToo; include Included; end
module MadeMod
  define_method(:mixed) { tick }
end
class WithMadeMod; include MadeMod; end
class PrependedMade
  define_method(:made_under) { tick }
  define_method(:made_over) { tick }
  prepend(Module.new { def made_over = super })
end
body = proc { tick }
Made.define_method(:shared, &body)
Foo.define_method(:shared, &body)
[:p, :q].each { |name| Outer.define_singleton_method(name) { tick } }

expect_name("Made#simple", method: Made.instance_method(:simple)) { Made.new.simple }
expect_name("Made#with_block") { Made.new.with_block }
expect_name("Made#with_rescue") { Made.new.with_rescue }
expect_name('Made#{loop_one, loop_two}', method: Made.instance_method(:loop_one)) { Made.new.loop_one }
expect_name('Made#{many_a, many_b, many_c, 2 more}') { Made.new.many_d }
expect_name("Made.on_class", "#<singleton of Made>", method: Made.method(:on_class)) { Made.on_class }
expect_name("Made#by_macro") { Made.new.by_macro }
expect_name("Made#made_inside") { Made.new.made_inside }
expect_name("Made#original", method: Made.instance_method(:copied)) { Made.new.copied }
expect_name("Made#made_private") { Made.new.send(:made_private) }
expect_name("#<instance of Made>.own", "#<singleton of #<instance of Made>>") { made_object.own }
expect_name("#<anonymous subclass of Made>#x") { made_anonymous.new.x }
expect_name("{WithHook, WithHookToo}#hooked") { WithHook.new.hooked }
expect_name("MadeMod#mixed") { WithMadeMod.new.mixed }
expect_name("PrependedMade#made_under") { PrependedMade.new.made_under }
expect_name("PrependedMade#made_over") { PrependedMade.new.made_over }
expect_name("{Foo, Made}#shared") { Made.new.shared }
expect_name("Outer.{p, q}", "#<singleton of Outer>") { Outer.p }

# --- Templates: a name for each template, not for each process.
class View
  eval "def _app_views_posts_show_html_erb__3094178233445674_23440 = tick", binding, "/app/views/posts/show.html.erb", 1
  eval "def _app_views_posts_edit_html_erb___3094178233445674_23441 = tick", binding, "/app/views/posts/edit.html.erb", 1
end
expect_name("View#_app_views_posts_show_html_erb") { View.new._app_views_posts_show_html_erb__3094178233445674_23440 }
expect_name("View#_app_views_posts_edit_html_erb") { View.new._app_views_posts_edit_html_erb___3094178233445674_23441 }

profile = Profiler.run(threads: :current) do
  CASES.each { |title, (_name, _class_name, run, _method)| Profiler.label(case: $case = title, &run) if run }
end
seen = profile.samples.group_by { |sample| sample.labels[:case] || sample.labels["case"] }
wrong = CASES.filter_map do |title, (name, class_name, run, method)|
  found = []
  if run
    frames = seen.fetch(title, []).find { |sample| sample.frames.any? { |frame| frame.name == "Object#tick" } }&.frames || []
    frame = frames[frames.index { |entry| entry.name == "Object#tick" }.to_i + 1]
    found << [frame&.name, frame&.class_name]
  end
  found << [Profiler.name_of(method), class_name] if method
  [title, [name, class_name], *found] unless found.all?([name, class_name]) && found.any?
end
puts JSON.generate(cases: CASES.size, wrong: wrong, ms: profile.stats[:names_ns] / 1e6)
