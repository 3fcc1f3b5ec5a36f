# frozen_string_literal: true

require_relative "../support/tools"

RSpec.describe "The extension of Sequel" do
  include_context "with a program"
  include Tools

  it "records statements as markers, without their values" do
    need_library "sequel", "sqlite3"
    idle, names, positive, raised = run_json(<<~RUBY)
      require "sequel"
      db = Sequel.sqlite
      db.extension(:profiler)
      db.create_table(:items) { primary_key :id; String :name }
      profile = Profiler.run do
        12.times { |number| db[:items].insert(name: "secret \#{number}") }
        db[:items].where(id: 4711, name: "O'Brien").all
        db["SELECT * FROM items WHERE name = ?", "secret"].first
        db[:items].where(id: :$id).prepare(:select, :by_id).call(id: 4711)
        $raised = error { db.run("SELECT secret FROM nowhere WHERE id = 4711") }
      end
      idle = Profiler.run { }.markers.size
      print_json([idle, profile.markers.map(&:name).tally, profile.markers.all? { |it| it.duration.positive? }, $raised[/\\A\\S+:/]])
    RUBY
    expect([idle, positive, raised]).to eq [0, true, "Sequel::DatabaseError:"]
    names.transform_keys!(&:to_s)
    expect(names.keys.grep(/secret \d|O'Brien|4711/)).to eq []
    expect(names).to include("SQL: INSERT INTO `items` (`name`) VALUES (?)" => 12, "SQL: SELECT * FROM `items` WHERE ((`id` = ?) AND (`name` = ?))" => 1,
                             "SQL: SELECT * FROM items WHERE name = ?" => 1, "SQL: SELECT secret FROM nowhere WHERE id = ?" => 1)
  end

  it "is not needed: a session records the statements of every database, each once" do
    need_library "sequel", "sqlite3"
    counts = run_json(<<~RUBY)
      require "sequel"
      plain, extended = Sequel.sqlite, Sequel.sqlite
      extended.extension(:profiler)
      profile = Profiler.run do
        later = Sequel.sqlite
        [plain, extended, later].each_with_index { |db, number| db.run("SELECT 1 AS name\#{number}") }
      end
      print_json(profile.markers.map(&:name).grep(/name/).tally)
    RUBY
    expect(counts.transform_keys(&:to_s)).to eq("SQL: SELECT ? AS name0" => 1, "SQL: SELECT ? AS name1" => 1, "SQL: SELECT ? AS name2" => 1)
  end

  it "reads no clock that the tests of an app replace" do
    need_library "sequel", "sqlite3"
    calls, positive = run_json(<<~RUBY)
      require "sequel"
      calls = 0
      db = Sequel.sqlite
      profile = Profiler.run do
        Process.define_singleton_method(:clock_gettime) { |*| (calls += 1) * 0 }
        db.run("SELECT 1")
        Process.singleton_class.remove_method(:clock_gettime)
      end
      found = profile.markers.select { |it| it.name.include?("SELECT") }
      print_json([calls, found.map { |it| it.duration.between?(1, 60_000_000_000) }])
    RUBY
    expect([calls, positive]).to eq [0, [true]]
  end

  # Extensions of Sequel surround the method for its logs, as Sequel documents.
  it "never fails a statement" do
    found, names = run_json(<<~RUBY)
      module Sequel
        class Database
          def self.register_extension(name, extension) = (@extensions ||= {})[name] = extension
          def self.extensions = @extensions
          def log_connection_yield(_sql, _connection, _arguments = nil) = yield
          def database_type = raise("not connected")
        end
      end
      require "sequel/extensions/profiler"
      db = Sequel::Database.new.extend(Sequel::Database.extensions.fetch(:profiler))
      found = nil
      profile = Profiler.run { found = db.log_connection_yield("SELECT 'secret'", nil, ["secret"]) { 7 } }
      print_json([found, profile.markers.map(&:name)])
    RUBY
    expect([found, names]).to eq [7, ["SQL (not read: RuntimeError)"]]
  end
end
