# frozen_string_literal: true

require_relative "../support/live"

RSpec.describe "profiler memory" do
  include_context "with a live program"

  let(:program) { "class Kept; def initialize = @bytes = 'k' * 3_000; end; ALL = Array.new(1_000) { Kept.new }; ready; wait_for_end" }

  it "prints the ledger of a running process, and what changed since another" do
    live(program) do |pid|
      plain = profiler_of("memory", pid)
      expect(plain).to have_attributes(status: be_success, err: "")
      expect(plain.out).to match(/\AProcess #{pid}: .*^RSS .*malloc: main arena$/m)
      expect(plain.out).not_to include("owner")
      owners = profiler_of("memory", "--owners", pid)
      expect(owners.out).to match(/^ .*  String$/)
      File.write("#{box}/before.json", profiler_of("memory", "--owners", "--json", pid).out)
      expect(JSON.parse(File.read("#{box}/before.json")).dig("snapshot", "owners").map { |it| it["name"] }).to include("Kept")
      expect(profiler_of("memory", "--owners", "--since", "#{box}/before.json", pid).out).to match(/\ARSS .* -> .* in \d+ s\.$/)
      why = profiler_of("memory", "--why", "Kept", pid)
      expect(why.out).to match(/^Why 1,000 objects of class Kept are alive \(retained: [23]\.\d+ MiB\):$.*^ +[23]\.\d+ MiB  > ::ALL  Array\n.*  > \[\d+\]  Kept$/m)
      expect(profiler_of("memory", "--why", "Lost", pid)).to have_attributes(code: 1, err: /why: no class is named "Lost"/)
      expect(profiler_of("memory", "#{box}/before.json").out).to start_with("Process #{pid}: ")
    end
  end

  it "fails in words" do
    File.write("#{box}/other.json", "{}")
    expect(profiler_of("memory")).to have_attributes(code: 2, err: /expected one PID or one file, got 0 /)
    expect(profiler_of("memory", "#{box}/other.json")).to have_attributes(code: 1, err: %r{other\.json: not a ledger of profiler memory --json})
    expect(profiler_of("memory", "--since", "#{box}/none.json", "1")).to have_attributes(code: 1, err: %r{cannot read \S*/none\.json: No such file})
    live("ready; wait_for_end") do |pid|
      expect { ask(pid, do: "memory", owners: 7) }.to raise_error(Profiler::Control::Client::Failed, "owners: 7 is not allowed (allowed: true, false)")
    end
  end
end
