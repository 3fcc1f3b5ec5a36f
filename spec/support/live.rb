# frozen_string_literal: true

require "json"
require "profiler/control/client"

# Programs with a control socket, in a directory of the example's own, that are looked into while they run.
RSpec.shared_context "with a live program" do
  include_context "with a box"

  # A program that opens its socket and says so, and ends when a file is there.
  let(:start) { require_program("live/start") }

  let(:control) { File.join(box, "control") }
  let(:environment) { { "PROFILER_CONTROL" => control, "BOX" => box } }

  # Runs the program, and the block once it is ready.
  #
  # @yield [Integer] the pid
  # @return [Child::Result]
  def live(code, **options, &block) = look_into("-e", "#{start}\n#{code}", **options, &block)

  # Runs a program of spec/programs in the same way.
  def live_program(name, **options, &block) = look_into("spec/programs/#{name}.rb", **options, &block)

  def look_into(*program, env: {}, **options)
    result = ruby_child(*program, env: environment.merge(env), **options) do |pid|
      wait_until { File.exist?(File.join(box, "ready")) }
      yield pid
      File.write(File.join(box, "over"), "")
    end
    expect(result.status).to be_success, "#{result.status}\n#{result.err[0, 4_000]}"
    result
  end

  def socket_of(pid) = File.join(control, "#{pid}.sock")

  # Asks over the socket.
  def ask(pid, request)
    client = Profiler::Control::Client.new(socket_of(pid))
    client.ask(request)
  ensure
    client&.close
  end

  # @return [Hash{String => Hash}] the threads of a dump, by name
  def threads_of(pid)
    _, bytes = ask(pid, do: "dump", form: "json")
    JSON.parse(bytes, symbolize_names: true).fetch(:threads).to_h { |result| [result.fetch(:name), result] }
  end

  # Runs a command against the live program.
  def profiler_of(*arguments, **options, &block)
    profiler_child(*arguments.map(&:to_s), env: environment, **options, &block)
  end
end
