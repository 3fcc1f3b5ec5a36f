# frozen_string_literal: true

RSpec.describe "The programs of the specs" do
  it "are in folders named for their features, but for what all of them share" do
    expect(Dir.glob("*.rb", base: File.join(Child::ROOT, "spec/programs"))).to contain_exactly("burn.rb", "helpers.rb")
  end
end
