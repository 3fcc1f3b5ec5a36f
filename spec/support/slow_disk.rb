# frozen_string_literal: true

# A disk that takes its time (slow_disk.c), for child processes.
module SlowDisk
  # An hour: whoever waits for the disk fails the example.
  HANGS = "3600"

  # The environment of a child whose writes to temporary files last +seconds+, or fail if it is "full".
  #
  # @param began [String] a file that appears when the first write begins
  # @return [Hash]
  def slow_disk(seconds, began:)
    Preloaded.env("slow_disk").merge("SLOW_DISK" => seconds, "SLOW_DISK_BEGAN" => began)
  end
end
