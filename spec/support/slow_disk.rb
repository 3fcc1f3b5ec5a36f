# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# A disk that takes its time (slow_disk.c), for child processes.
module SlowDisk
  # An hour: whoever waits for the disk fails the example.
  HANGS = "3600"

  # The environment of a child whose writes to temporary files last +seconds+, or fail if it is "full".
  #
  # @param began [String] a file that appears when the first write begins
  # @return [Hash]
  def slow_disk(seconds, began:)
    { "LD_PRELOAD" => SlowDisk.library, "SLOW_DISK" => seconds, "SLOW_DISK_BEGAN" => began }
  end

  # Compiled once. What links the extension is there, so this is not skipped.
  def self.library
    @library ||= begin
      directory = Dir.mktmpdir("slow disk")
      at_exit { FileUtils.remove_entry(directory) }
      File.join(directory, "slow_disk.so").tap do |library|
        command = ["cc", "-shared", "-fPIC", "-o", library, File.join(__dir__, "slow_disk.c"), "-ldl"]
        system(*command) or raise "#{command.join(" ")} failed"
      end
    end
  end
end
