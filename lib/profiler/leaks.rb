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
    class << self
      # @api private
      def find(rounds, warm_up, every)
        raise ArgumentError, "rounds: #{rounds.inspect} is not an Integer of 2 or more" unless rounds.is_a?(Integer) && rounds >= 2

        Allocations.check_warm_up(warm_up)
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

      # Numbers and bytes of live objects, by class and place.
      def live_objects(profile)
        rows = profile.samples.select { |it| it.inuse_objects.positive? && placed?(it) && !of_profiler?(it) }
        rows.group_by { |it| [it.labels["class"], it.frames] }
            .transform_values { |them| [them.sum(&:inuse_objects), them.sum(&:inuse_bytes)] }
      end

      # Returns whether the row has a place. What the VM made for code has none any more once the code was let go.
      def placed?(row) = row.frames.any? { |it| !it.path.empty? }

      # A snapshot consists of objects, which are live at the next one.
      def of_profiler?(row)
        row.frames.find { |it| it.kind == :ruby }&.path&.start_with?(__dir__)
      end

      # Keeps what never shrank, and grew in most rounds: sampling misses some.
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
end
