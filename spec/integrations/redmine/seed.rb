# frozen_string_literal: true

# Fifty issues, for `rails runner`.
Setting.default_language = "en"
Redmine::DefaultData::Loader.load("en") if Redmine::DefaultData::Loader.no_data?
project = Project.create!(name: "Shop", identifier: "shop", is_public: true, trackers: Tracker.all.to_a)
50.times do |number|
  Issue.create!(project: project, subject: "secret subject #{number}", description: "h1. Title\n\n* *bold* _it_ @code@ #{"word " * 200}\n" * 3,
                tracker: Tracker.first, author: User.find_by(admin: true), status: IssueStatus.first, priority: IssuePriority.first)
end
