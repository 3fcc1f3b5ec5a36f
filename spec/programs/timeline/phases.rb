# frozen_string_literal: true

# Phases of burning and sleeping, and the sums of a timeline. Needs the helpers.
MODE = %i[cpu wall].freeze
WEIGHTS = %i[count cpu wall gvl_wait gc]
def first_burn = burn(120)
def nap(began = now) = sleep(0.1).then { Thread.current[:napped] = now - began }
def second_burn = burn(120)
def phases = [first_burn, nap, second_burn]

def sums(shares)
  shares.group_by { |it| [it.frames, it.thread_id, it.thread_name, it.state, it.labels] }
        .transform_values { |some| WEIGHTS.map { |name| some.sum(&name) } }.reject { |_, weights| weights.all?(0) }
end

def same?(profile) = sums(profile.timeline) == sums(profile.samples)
