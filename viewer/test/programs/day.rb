# frozen_string_literal: true

# Writes the files that a continuous session of one process would have written from midnight on, of profiles that were recorded
# before: they are the same but for their times. Around noon only the first of them are used.
#
#   ruby viewer/test/programs/day.rb DIRECTORY FILES SECONDS PROFILE...
require "fileutils"
require "zlib"

START = Time.utc(2026, 11, 26)
PID = 4711
TIME = 9 # fields of pprof
DURATION = 10
META = 5202 # profiler's JSON

def varint(number)
  bytes = "".b
  while number > 127
    bytes << ((number & 127) | 128)
    number >>= 7
  end
  bytes << number
end

# Fields of a message: the number, all bytes, and the content of those with a length.
def fields(bytes)
  at = 0
  number = lambda do
    value = shift = 0
    loop do
      byte = bytes.getbyte(at)
      at += 1
      value |= (byte & 127) << shift
      return value if byte < 128

      shift += 7
    end
  end
  found = []
  while at < bytes.bytesize
    start = at
    tag = number.call
    length = number.call
    content = (tag & 7).zero? ? nil : bytes.byteslice(at, length)
    at += length if content
    found << [tag >> 3, bytes.byteslice(start, at - start), content]
  end
  found
end

def with_times(messages, from_ns, length_ns)
  messages.map do |field, bytes, content|
    case field
    when TIME then varint(field << 3) + varint(from_ns)
    when DURATION then varint(field << 3) + varint(length_ns)
    when META
      meta = content.sub(/"started_at_ns":\d+/, "\"started_at_ns\":#{from_ns}").sub(/"duration_ns":\d+/, "\"duration_ns\":#{length_ns}")
      varint((field << 3) | 2) + varint(meta.bytesize) + meta
    else bytes
    end
  end.join
end

directory, files, seconds, *profiles = ARGV
seconds = Integer(seconds)
FileUtils.mkdir_p(directory, mode: 0o700)
messages = profiles.map { |it| fields(File.open(it, "rb") { |file| Zlib::GzipReader.zcat(file) }) }
Integer(files).times do |number|
  till = START + ((number + 1) * seconds)
  most = (1 + Math.cos(2 * Math::PI * number * seconds / 86_400)) / 2 * messages.size
  bytes = with_times(messages[[((number * 7) + (number / 6)) % messages.size, most.to_i].min], (till.to_i - seconds) * 1_000_000_000, seconds * 1_000_000_000)
  name = format("%s-%d-%08x.pb.gz", till.strftime("%Y%m%dT%H%M%S.%L"), PID, number)
  File.binwrite(File.join(directory, name), Zlib.gzip(bytes))
end
