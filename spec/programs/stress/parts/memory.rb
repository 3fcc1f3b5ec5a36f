# frozen_string_literal: true

# Sessions of memory that begin and end all the time, so that the tables of libraries are changed and put back. Meanwhile other
# threads allocate, are raised at and killed, fork, load and unload libraries, look up names and use OpenSSL. What is held was also
# allocated.
require "fiddle"
require "openssl"
require "socket"
require "timeout"
require "zlib"

# Libraries that Ruby does not have, and that call malloc.
LIBRARIES = %w[libbz2.so.1.0 liblzma.so.5 libexpat.so.1 libpcre2-8.so.0].freeze

def sample_memory(seconds)
  return sleep(seconds) unless Stress::PROFILED

  session = Profiler::Session.start(mode: [:native, %i[cpu native], %i[wall native]].sample, every_bytes: [1_024, 65_536].sample, owners: rand < 0.05)
  sleep(seconds)
  session.pause.resume if rand < 0.1
  session.snapshot if rand < 0.1
  return session.discard if rand < 0.1

  rows = session.stop.samples
  allocated, held = rows.sum(&:alloc_bytes), rows.sum(&:inuse_bytes)
  Stress.wrong("memory", "#{held} bytes are held of #{allocated}") if held > allocated
  Stress.count("sessions of memory")
  Stress.count("bytes from malloc", allocated)
end

def allocate
  strings = Array.new(50) { "x" * rand(20_000) }
  Zlib::Inflate.inflate(Zlib::Deflate.deflate(strings.sample))
  Array.new(rand(5_000), 1)
  OpenSSL::Digest::SHA256.hexdigest(strings.sample)
  Fiber.new { Fiber.yield({ at: strings }) }.resume
  strings.sample.to_sym if rand < 0.05
end

2.times { |number| Stress.worker("sessions of memory #{number}") { sample_memory(rand * 0.01) } }
2.times { |number| Stress.worker("allocations #{number}") { allocate } }

Stress.worker("interrupted allocations") do
  thread = Thread.new { loop { allocate } }
  sleep(rand * 0.01)
  rand < 0.5 ? thread.raise("stop") : thread.kill
  thread.join rescue nil
  Timeout.timeout(0.005) { allocate while true } rescue nil
  Stress.count("allocations interrupted", 2)
end

Stress.worker("libraries") do
  LIBRARIES.each do |name|
    Fiddle.dlopen(name).close
    Stress.count("libraries loaded")
  rescue Fiddle::DLError
    # it is not installed
  end
  sleep(rand * 0.01)
end

Stress.worker("children") do
  pid = fork do
    allocate
    exec("true") if rand < 0.3
    exit!(0)
  end
  _, status = Process.wait2(pid)
  Stress.wrong("child", status.inspect) unless status.success?
  Stress.wrong("child", $?.inspect) unless system("true")
  Stress.count("children", 2)
end

Stress.worker("names") do
  Addrinfo.getaddrinfo("localhost", 80, nil, :STREAM)
  Addrinfo.getaddrinfo("nothing.invalid", 80, nil, :STREAM) rescue nil
  key = OpenSSL::PKey::EC.generate("prime256v1")
  key.dsa_sign_asn1("x" * 32)
  OpenSSL::X509::Store.new.set_default_paths if rand < 0.2
  Stress.count("names looked up", 2)
end

Stress.worker("garbage") { rand < 0.2 && (RUBY_VERSION >= "3.2") ? GC.compact : GC.start(full_mark: rand < 0.5) }
