# frozen_string_literal: true

module Profiler
  class Pprof
    # The threads of this process as text: name, status, labels and backtrace of each.
    module Threads
      # The largest number of threads that are listed; below, of frames per thread.
      MAX_THREADS = 1_000
      MAX_FRAMES = 200
      LIST = Thread.method(:list)
      BACKTRACE = Thread.instance_method(:backtrace)
      NAME = Thread.instance_method(:name)
      STATUS = Thread.instance_method(:status)
      private_constant :MAX_THREADS, :MAX_FRAMES, :LIST, :BACKTRACE, :NAME, :STATUS

      class << self
        # @return [String]
        def text
          all = LIST.call
          left = all.size - MAX_THREADS
          parts = all.first(MAX_THREADS).filter_map { |it| part(it) }
          parts << "and #{left} more threads" if left.positive?
          ["#{all.size} threads, process #{Process.pid}", *parts].join("\n\n")
        end

        private

        # @return [String, nil] nil if it has ended
        def part(thread)
          status = STATUS.bind_call(thread) or return
          # A thread may be created but not have started yet.
          frames = BACKTRACE.bind_call(thread, 0, MAX_FRAMES + 1) || []
          lines = frames.first(MAX_FRAMES).map { |it| "    #{clean(it)}" }
          lines << "    ..." if frames.size > MAX_FRAMES
          ["#{title(thread)} [#{status}]#{labels(thread)}", *lines].join("\n")
        end

        def title(thread)
          name = NAME.bind_call(thread)&.then { |it| clean(it) }
          name ||= thread.equal?(Thread.main) ? "main" : "(no name)"
          defined?(BackgroundThread) && thread.instance_of?(BackgroundThread) ? "#{name} (of the profiler)" : name
        end

        def labels(thread)
          return unless defined?(Labels)

          Labels.of(thread).map { |name, value| " #{clean(name.to_s)}=#{clean(value).inspect}" }.join
        end

        # Returns the name of a thread as valid text: an app can use any bytes.
        def clean(text)
          text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: "?").scrub("?")
          defined?(Native) ? Native.clean(text) : text.gsub(/[^[:print:]]/, "?")
        end
      end
    end
  end
end
