# frozen_string_literal: true

module Profiler
  # The growth of live objects of one class at one place: +objects+ more, in slots of +bytes+. +frames+ are leaf first.
  Growth = Struct.new(:class_name, :objects, :bytes, :frames, keyword_init: true) do
    def to_s
      frame = frames.find { |it| it.kind == :ruby } || frames.first
      "#{class_name}: #{objects} objects, #{bytes} bytes more, allocated in #{frames.first&.name}#{" at #{frame.path}:#{frame.line}" if frame}"
    end
  end

  # Runs a block repeatedly and finds what each round leaves behind.
  module Leaks
    MAX_ROUNDS = 1_000_000
    private_constant :MAX_ROUNDS

    class << self
      # @api private
      def find(rounds, warm_up, every)
        raise ArgumentError, "rounds: #{AnyObject.text(rounds)} is not an Integer from 2 to #{MAX_ROUNDS}" unless Integer === rounds && rounds.between?(2, MAX_ROUNDS)

        AnyObject.integer("warm_up", warm_up, 0)
        warm_up.times { yield }
        session = Session.begin({ mode: :heap, every: every })
        begin
          seen = Array.new(rounds) do
            yield
            live_objects(session.snapshot)
          end
        ensure
          session.discard
        end
        grown(seen).sort_by { |it| [-it.bytes, it.class_name] }
      end

      # @api private
      def between(before, after)
        grown([live_objects(before), live_objects(after)]).sort_by { |it| [-it.bytes, it.class_name] }
      end

      private

      # Returns the numbers and bytes of live objects, by class and place.
      def live_objects(profile)
        rows = profile.samples.select { |it| it.inuse_objects.positive? && placed?(it) && !of_profiler?(it) }
        rows.group_by { |it| [it.labels["class"], it.frames] }
            .transform_values { |them| [them.sum(&:inuse_objects), them.sum(&:inuse_bytes)] }
      end

      # Returns whether the row has a place. Objects that the VM allocated for code have none once that code was freed.
      def placed?(row) = row.frames.any? { |it| !it.path.empty? }

      # Returns whether the profiler allocated the objects of the row: a snapshot consists of objects that are live at the next one.
      def of_profiler?(row)
        row.frames.find { |it| it.kind == :ruby }&.path&.start_with?(__dir__)
      end

      # Returns the rows that never shrank, and grew in most rounds; not in all, as sampling misses some growth.
      def grown(seen)
        steps = seen.size - 1
        seen.last.filter_map do |key, last|
          each = seen.map { |it| it.fetch(key, [0, 0]) }
          moves = each.each_cons(2).map { |(before, _), (after, _)| after - before }
          next if moves.any?(&:negative?) || moves.count(&:positive?) * 2 <= steps

          Growth.new(class_name: key[0], frames: key[1], objects: last[0] - each[0][0], bytes: last[1] - each[0][1])
        end
      end
    end
  end
  private_constant :Leaks
end
