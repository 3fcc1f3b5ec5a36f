# frozen_string_literal: true

# Prints the methods of the modules that are named, as JSON: by module, kind and name, with their parameters; and which are public.
require "json"
require "profiler"
require_relative "../support/parameters"

# autoload.rb would begin to record.
module Profiler
  module Autoload
    @recording = nil
  end
end

# Files for Rails need it.
lib = File.expand_path("../../lib/profiler", __dir__)
Dir["#{lib}/**/*.rb"].grep_v(%r{/rails\.rb$|/in_rails/}).each { |it| require it }

methods = ARGV.to_h do |name|
  owner = name.split("::").inject(Object) { |outer, it| outer.const_get(it) }
  kinds = { "instance" => owner, "singleton" => owner.singleton_class }
  [name, kinds.transform_values do |it|
    names = it.instance_methods + it.private_instance_methods
    { all: names.to_h { |method| [method, Parameters.of(it.instance_method(method)).to_h] }, public: it.public_instance_methods(false) }
  end]
end
puts JSON.generate(methods)
