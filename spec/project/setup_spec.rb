# frozen_string_literal: true

require "fileutils"

# The scripts of bin/ for newcomers, on a machine of stubs.
RSpec.describe "A newcomer's command" do
  include_context "with a box"

  # A directory with the system's simplest tools, and these programs in sh.
  def path_with(**programs)
    FileUtils.mkdir_p(in_box("path"))
    %w[cat cut dirname env grep head mkdir printf rm sed sh sort tail tr uname].each { |name| FileUtils.ln_sf(`which #{name}`.chomp, in_box("path/#{name}")) }
    programs.each { |name, body| File.write(in_box("path/#{name.to_s.tr("_", "-")}"), "#!/bin/sh\n#{body}\n", perm: 0o755) }
    in_box("path")
  end

  def bin(name)
    FileUtils.mkdir_p(in_box("bin"))
    FileUtils.cp(File.join(Child::ROOT, "bin", name), in_box("bin"))
    in_box("bin/#{name}")
  end

  it "bin/setup names each package that it installs once" do
    installed = in_box("installed")
    path = path_with(
      ruby: "[ -e '#{installed}' ]", apt_get: "case \"$*\" in *install*) echo \"$*\" > '#{installed}' ;; esac",
      apt_cache: "[ \"$1\" = depends ] || echo '  Candidate: 1.0'", id: "echo 0", make: ":", cc: ":", cargo: "echo cargo 1.99.0"
    )
    result = command_child("sh", bin("setup"), chdir: box, env: { "PATH" => path, "LIBCLANG_PATH" => box })
    names = result.out[/^setup: installing (.*)/, 1].split
    expect([result.code, names.sort]).to eq [0, %w[rake ruby ruby-dev ruby-rspec]]
    expect(File.read(installed)).to include(names.join(" "))
  end

  it "bin/demo shows no warnings of the profiled program, and what to type next" do
    bin("demo")
    File.write(in_box("bin/setup"), "#!/bin/sh\n", perm: 0o755)
    path = path_with(ruby: <<~SH)
      case "$*" in
        *" record "*) echo 'Warning: of RDoc' >&2; echo '[profiler] cpu 1.00 s -> a' >&2; exit ${STATUS:-0} ;;
        *" report "*) echo 'REPORT' ;;
      esac
    SH
    result = command_child("sh", in_box("bin/demo"), chdir: box, env: { "PATH" => path })
    expect([result.code, result.err]).to eq [0, ""]
    expect(result.out).to match(/^\[profiler\] cpu.*^REPORT$.*^Next:\n  ruby exe\/profiler view .*rdoc\.pb\.gz /m)
    expect(result.out).not_to include("Warning")
    failed = command_child("sh", in_box("bin/demo"), chdir: box, env: { "PATH" => path, "STATUS" => "3" })
    expect([failed.code, failed.err]).to match [1, /Warning: of RDoc/]
  end
end
