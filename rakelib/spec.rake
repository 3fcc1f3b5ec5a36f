# frozen_string_literal: true

def rspec(*options)
  abort "spec: there are no specs" if FileList["spec/**/*_spec.rb"].empty? # rspec would call that a success
  sh RUBY, "-S", "rspec", *options, chdir: ROOT, verbose: false
end

desc "Run the specs (SPEC=file or file:line, SPEC_OPTS=options of rspec)"
task spec: :compile do
  rspec(*ENV["SPEC"])
end
