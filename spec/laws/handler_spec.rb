# frozen_string_literal: true

# Law 3, mechanically: what the handler may not do.
RSpec.describe "The signal handler" do
  def count(env = {})
    result = ruby_child("spec/programs/burn.rb", "2000", env: Preloaded.env("malloc_counter").merge(env))
    expect(result.status).to be_success, result.err
    line = result.err[/malloc_counter handled=(\d+) allocations=(\d+)/] or raise "no count in #{result.err}"
    line.scan(/\d+/).map(&:to_i)
  end

  it "allocates nothing, in Rust, in C or in the VM" do
    handled, allocations = count
    expect(handled).to be > 20
    expect(allocations).to eq(0)
  end

  it "is caught by the counter if it allocates" do
    handled, allocations = count("MALLOC_COUNTER_SELF_TEST" => "1")
    expect(allocations).to eq(handled)
  end
end
