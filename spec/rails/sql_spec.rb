# frozen_string_literal: true

require_relative "../../lib/profiler/in_rails/sql"

RSpec.describe "SQL that may be shown" do
  def shown(sql, mysql: false) = Profiler::InRails::Sql.without_values(sql, mysql: mysql)

  {
    %(SELECT "users".* FROM "users" WHERE "users"."id" = 17 AND name = 'O''Brien' LIMIT 1) =>
      %(SELECT "users".* FROM "users" WHERE "users"."id" = ? AND name = ? LIMIT ?),
    "SELECT * FROM t1 WHERE a IN (1, 2,3) AND b4 = -1.5e3 AND c = 0xff" => "SELECT * FROM t1 WHERE a IN (?) AND b4 = ? AND c = ?",
    "SELECT $1, $$secret$$, $x$ 'secret $x$, E'sec\\'ret', x'ff' FROM t" => "SELECT $1, ? FROM t",
    "SELECT 1 /* secret */ -- secret\n FROM t /* secret" => "SELECT ? FROM t",
    "SELECT 'secret without an end" => "SELECT ?",
    %(SELECT "secret without an end) => "SELECT ?",
    "SELECT 'sec\xffret', \xff" => "SELECT ?",
    %q(SELECT a FROM b WHERE c = 'C:\\' AND d = 'secret') => "SELECT a FROM b WHERE c = ? AND d = ?",
  }.each { |sql, want| it("of #{sql.inspect} is #{want}") { expect(shown(sql)).to eq(want) } }

  it "has no strings of MySQL, whatever a backslash means there" do
    expect(shown(%(SELECT `a` FROM `b` WHERE c = "secret" AND d = 'x' # secret), mysql: true)).to eq("SELECT `a` FROM `b` WHERE c = ? AND d = ?")
    expect(shown(%q(SELECT a FROM b WHERE c = 'x\\' AND d = 'secret'), mysql: true)).to eq("SELECT a FROM b WHERE c = ?")
    expect(shown(%q(SELECT a FROM b WHERE c = 'x\' secret' AND d = 1), mysql: true)).to eq("SELECT a FROM b WHERE c = ?")
  end

  it "has nothing of random values, wherever they stand" do
    random = Random.new(Kernel.rand(1 << 30))
    200.times do
      value = Array.new(random.rand(1..30)) { ["Z", "'", '"', "\\", " ", "$", "-", "/*", "*/", "\n", "7"].sample(random: random) }.join
      { false => value.gsub("'", "''"), true => value.gsub("\\") { "\\\\" }.gsub("'") { "\\'" } }.each do |mysql, quoted|
        text = shown("SELECT a FROM b WHERE c = '#{quoted}' AND d = '#{quoted}'", mysql: mysql)
        expect(text).not_to match(/[Z7]/), quoted
        expect(text).to eq("SELECT a FROM b WHERE c = ? AND d = ?"), quoted unless mysql
      end
    end
  end

  it "ends somewhere" do
    expect(shown("SELECT #{"a, " * 5_000}").size).to be <= 240
  end
end
