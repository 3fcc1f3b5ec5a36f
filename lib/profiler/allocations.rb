# frozen_string_literal: true

module Profiler
  # The objects that a block allocated, for tests. {Profiler.allocations_of} returns it.
  #
  # It counts the objects of the block's own thread and its fibers. Objects that the VM allocates for itself (method caches,
  # environments of blocks) are listed apart, as {#internal}: their number depends on the Ruby and on what ran before.
  class Allocations
    # A place where objects are allocated: +frames+ leaf first, up to the block, their +class_name+, the number of +objects+ and
    # the +bytes+ of their slots.
    Site = Struct.new(:class_name, :objects, :bytes, :frames, keyword_init: true) do
      # Returns the path and line of the first Ruby frame.
      def place
        frame = frames.find { |it| it.kind == :ruby } || frames.first
        frame ? "#{frame.path}:#{frame.line}" : "(the block itself)"
      end

      def to_s
        "#{objects} x #{class_name} (#{bytes} bytes) at #{place}#{" in #{frames.first.name}" if frames.any?}"
      end
    end

    # An object that is allocated after the block, to see whether Ruby still reports objects.
    class Probe
    end

    INTERNAL = "(internal to Ruby)"
    AROUND = "Profiler::Allocations.around"
    OUTSIDE = "Profiler.allocations_of"
    # The longest name for which a similar one is looked for.
    LONGEST_WORD = 200
    DEFINED, AUTOLOAD, GET = %i[const_defined? autoload? const_get].map { |name| Module.instance_method(name) }
    private_constant :Probe, :INTERNAL, :AROUND, :OUTSIDE, :LONGEST_WORD, :DEFINED, :AUTOLOAD, :GET

    class << self
      # @api private
      def of(warm_up)
        AnyObject.integer("warm_up", warm_up, 0)
        warm_up.times { yield }
        session = Session.begin({ mode: :allocations, every: 1, threads: :current, depth: 10_000 }, bound: true)
        losses = Native.hook_losses
        begin
          value = around { yield }
          Probe.new
          new(checked(session.stop, losses), value)
        ensure
          session.discard
        end
      end

      # Returns the name of a class in {#sites}, whatever its +to_s+ returns.
      #
      # @param klass [Class, String]
      # @return [String]
      # @raise [ArgumentError] for a module, which has no instances
      # @api private
      def name_of(klass)
        return Native.class_name(klass) if Class === klass

        AnyObject.utf8(klass) or raise ArgumentError, "#{AnyObject.text(klass)} is not a class with objects of its own (allowed: a class, or its name)"
      end

      # Refuses a name that no class has: it would have no objects for a wrong reason. Nothing is loaded to find out.
      #
      # @param name [String]
      # @raise [ArgumentError]
      # @api private
      def require_class(name)
        return if constant?(name)

        names = ObjectSpace.each_object(Class).map { |klass| Native.class_name(klass) }.uniq
        return if names.include?(name)

        nearest = Nearest.of(name, names.select { |other| (other.size - name.size).abs <= name.size / 4 }) if name.size <= LONGEST_WORD
        raise ArgumentError, "no class is named #{AnyObject.text(name)}#{": did you mean #{nearest}?" if nearest} (allowed: a class, or the name of one that exists after " \
                             "the block, or that autoload can load)"
      end

      private

      # Returns whether a constant of that name is a class, or is loaded on first use and may be one.
      def constant?(name)
        owner = Object
        name.split("::").each do |part|
          return false unless Module === owner && DEFINED.bind_call(owner, part, false)
          return true if AUTOLOAD.bind_call(owner, part, false)

          owner = GET.bind_call(owner, part, false)
        end
        Class === owner && Native.class_name(owner) == name # or it is an alias
      rescue NameError
        false # it cannot be the name of a constant
      end

      # Raises if the hook was lost. Before Ruby 4.0, the VM stops calling it once it has freed a Ractor, which is noticed in the
      # next GC.
      def checked(profile, losses)
        return profile if losses == Native.hook_losses && profile.samples.any? { |row| row.labels["class"] == Probe.name }

        raise Error, "not all objects of the block were counted: a Ractor was created or freed, after which Ruby reports no objects. Run the " \
                     "block once more, or collect garbage before it"
      end

      # Calls the block. Frames above this one belong to it.
      def around
        yield
      end
    end

    # The return value of the block.
    attr_reader :value

    # @return [Array<Site>] the places of allocation, the most objects first; without the VM's own objects
    attr_reader :sites

    # @return [Array<Site>] the same of the VM's own objects
    attr_reader :internal

    # @api private
    def initialize(profile, value)
      @value = value
      sites = profile.samples.filter_map do |row|
        frames = own(row.frames)
        frames && [[row.labels["class"], frames], row]
      end
      sites = sites.group_by(&:first).map do |(class_name, frames), rows|
        Site.new(class_name: class_name, frames: frames, objects: rows.sum { |_, row| row.alloc_objects }, bytes: rows.sum { |_, row| row.alloc_bytes })
      end
      sorted = sites.sort_by { |it| [-it.objects, it.class_name, it.place] }
      @internal, @sites = sorted.partition { |it| it.class_name.start_with?(INTERNAL) }
    end

    # @param klass [Class, String, nil] only of this class, by its name. All classes without a name that have the same superclass are
    #   one
    # @return [Integer]
    def objects(klass = nil)
      of(klass).sum(&:objects)
    end

    # @param klass [Class, String, nil] only of this class
    # @return [Integer] bytes of the slots, without memory outside of them
    def bytes(klass = nil)
      of(klass).sum(&:bytes)
    end

    # Returns the places of a class, or all places.
    #
    # @return [Array<Site>]
    # @raise [ArgumentError] if there is no such class
    def of(klass)
      return sites unless klass

      name = Allocations.name_of(klass)
      found = sites.select { |it| it.class_name == name }
      Allocations.require_class(name) if found.empty? && !(Class === klass)
      found
    end

    def inspect
      "#<Profiler::Allocations #{objects} objects, #{bytes} bytes>"
    end

    private

    # Returns the frames inside of the block; nil for the profiler's own objects. A fiber has a stack of its own.
    def own(frames)
      inside = frames.index { |it| it.name == AROUND }
      return frames.take(inside) if inside

      frames unless frames.any? { |it| it.name == OUTSIDE }
    end
  end
end
