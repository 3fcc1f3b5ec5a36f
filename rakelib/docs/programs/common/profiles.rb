# frozen_string_literal: true

# Profiles to be asked; one of them is a file.

class Order
  def save = work
end

def profile = @profile ||= recorded
def recorded = Profiler.run(mode: %i[cpu wall], timeline: true) { Order.new.save }
def others = [recorded]
def before = @before ||= recorded
def after = @after ||= recorded

profile.save("cpu.pb.gz")
