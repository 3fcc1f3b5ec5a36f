# frozen_string_literal: true

# Prints the methods of the modules that are named, as JSON: by module, kind and name, with their parameters; and which are public.
require "json"
require "profiler"
require_relative "../../support/parameters"

# autoload.rb would begin to record.
module Profiler
  module Autoload
    @recording = nil
  end
end

# Files for Rails need it, and attached.rb would open a socket.
lib = File.expand_path("../../../lib/profiler", __dir__)
Dir["#{lib}/**/*.rb"].grep_v(%r{/rails\.rb$|/attached\.rb$|/in_rails/}).each { |path| require path }

methods = ARGV.to_h do |name|
  owner = name.split("::").inject(Object) { |outer, name| outer.const_get(name) }
  kinds = { "instance" => owner, "singleton" => owner.singleton_class }
  [name, kinds.transform_values do |kind|
    names = kind.instance_methods + kind.private_instance_methods
    { all: names.to_h { |method| [method, Parameters.of(kind.instance_method(method)).to_h] }, public: kind.public_instance_methods(false) }
  end]
end
puts JSON.generate(methods)
