# frozen_string_literal: true

# A method that is new each time, and generations that are frozen at 60 handles. Needs the helpers.
# A method that is new each time, at the same place.
def renew
  Object.class_eval("def renewed(ms) = burn(ms)\ndef other(ms) = renewed(ms)", "renewed.rb", 1)
end

def kept = Profiler::Testing.freeze_at(FREEZE)
def names(profile) = profile.samples.flat_map { |row| row.frames.map(&:name) }.uniq
FREEZE = 60
