# frozen_string_literal: true

require "tmpdir"

module Profiler
  # Shows files in the user's browser: in $BROWSER, or else with xdg-open or open.
  module Browser
    # @param profile [Profile]
    # @param title [String, nil]
    # @return [String] the page. It is not removed, as the browser reads it later. Its path is printed where nothing can show it.
    def self.show(profile, title: nil)
      show_page { |page| profile.save(page, title: title) }
    end

    # @param bytes [String] a page
    # @return [String] see {show}
    def self.show_bytes(bytes)
      show_page { |page| File.open(page, "wbx", 0o600) { |it| it.write(bytes) } }
    end

    def self.show_page
      page = File.join(Dir.mktmpdir("profiler-"), "profile.html")
      yield page
      warn "[profiler] the page is #{page}" if far? || !open(page)
      page
    end

    # Returns whether the user sits at another machine, whose browser cannot be opened from here.
    def self.far?
      ENV.key?("SSH_CONNECTION") && %w[BROWSER DISPLAY WAYLAND_DISPLAY].all? { |name| ENV.fetch(name, "").empty? }
    end

    # @param target [String] a path or an address
    # @return [Boolean] false if there is no program that could open it
    # @raise [SystemCallError] if it cannot be run
    def self.open(target)
      program = [ENV["BROWSER"], "xdg-open", "open"].compact.reject(&:empty?).find { |it| on_path?(it) }
      return false unless program

      Process.detach(Process.spawn(program, target, in: File::NULL, out: File::NULL, err: File::NULL, pgroup: true))
      true
    end

    def self.on_path?(program)
      return File.executable?(program) if program.include?("/")

      ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).any? { |it| File.executable?(File.join(it, program)) }
    end
    private_class_method :on_path?, :show_page
  end
  private_constant :Browser
end
