# frozen_string_literal: true

require "json"
require_relative "job_queue"

# Runs all specs: each file in a process of its own, several at once. Then it runs the examples that compare with clocks
# (+:timed+), one after another, while nothing else runs. It ends with one summary, in RSpec's own words.
#
# The specs that run at once make the machine busy, beside a compiler that shares it. So up to {MAX_AGAIN} of their examples that
# failed run again by themselves, and that is printed; not those whose child died, and none with SPEC_STRICT=1.
class SpecRun
  MAX_AGAIN = 10
  DEATH = /\[BUG\]|SIG(SEGV|ABRT|BUS|ILL)|panicked/.freeze
  STATUS = ".rspec_status" # RSpec keeps there what each example took
  UNKNOWN = 0.8 # seconds of an example that has not run yet

  # @param jobs [Array<Job>] other jobs, which run beside the examples that are not timed
  # @param picked [Array<String>] files or folders of specs; all if it is empty
  # @param parts [Array<Symbol>] which examples: +:untimed+, +:timed+
  def initialize(ruby:, root:, jobs: [], picked: [], parts: %i[untimed timed], seed: rand(0xffff), output: $stdout)
    @rspec = [ruby, "-S", "rspec"]
    @root = root
    @others = jobs
    @picked = picked
    @parts = parts
    output.sync = true
    @seed = seed.to_s
    @output = output
    @examples = []
    @retries = []
    @again = []
  end

  # @return [Boolean] whether all passed
  def run
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    Dir.mktmpdir("specs") do |directory|
      @directory = directory
      @listed = @parts.to_h { |part| [part, list(part)] }
      @failed = @parts.flat_map { |part| @listed[part].empty? ? [] : send(part, @listed[part]) }
    end
    summarise(Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
  end

  private

  def untimed(ids)
    jobs = ids.group_by { |id| file_of(id) }.map { |file, of_file| spec_job(file, of_file, "--tag", "~timed", file) }
    @output.puts "#{ids.size} examples in #{jobs.size} files, #{JobQueue::SLOTS} at once; seed #{@seed}" \
                 "#{"; beside them #{@others.map(&:name).join(", ")}" unless @others.empty?}"
    more = @listed.fetch(:timed, []).sum { |id| seconds(id) }
    again(JobQueue.new(jobs + @others, what: "files", more: more, output: @output).run { |job| ended(job) })
  end

  # Runs the failed examples again, one after another.
  #
  # @param failed [Array<Job>]
  # @return [Array<Job>] those that still failed
  def again(failed)
    examples = @examples.select { |example| example["status"] == "failed" }
    lasting = examples.any? { |example| example.dig("exception", "message").to_s.match?(DEATH) }
    return failed if ENV["SPEC_STRICT"] == "1" || examples.empty? || examples.size > MAX_AGAIN || lasting

    ids = examples.map { |example| example["id"] }
    @output.puts "#{count(ids.size, "example")} again, alone"
    job = spec_job("examples again", ids, *ids)
    JobQueue.new([job], slots: 1, what: "runs", output: @output).run { |run| @output.puts run.output unless run.passed }
    passed = read(job.env["SPEC_RESULT"]).select { |example| example["status"] == "passed" }
    replace(passed)
    failed.reject { |it| only_failed_in?(it, passed.map { |example| example["id"] }) }
  end

  def replace(passed)
    ids = passed.map { |example| example["id"] }
    @again += passed.map { |example| example["full_description"] }
    @examples = @examples.reject { |example| ids.include?(example["id"]) } + passed
  end

  # Returns whether a job failed only in these examples.
  def only_failed_in?(job, ids)
    file = job.env&.fetch("SPEC_RESULT") or return false
    return false unless File.size?(file)

    result = JSON.parse(File.read(file))
    failed = result.fetch("examples").select { |example| example["status"] == "failed" }.map { |example| example["id"] }
    result.dig("summary", "errors_outside_of_examples_count").to_i.zero? && failed.any? && (failed - ids).empty?
  rescue JSON::ParserError
    false
  end

  def timed(ids)
    @output.puts "#{ids.size} examples that compare with clocks, one after another"
    job = spec_job("timed examples", ids, "--tag", "timed", *ids.map { |id| file_of(id) }.uniq)
    JobQueue.new([job], slots: 1, what: "runs", output: @output).run { |run| ended(run) }
  end

  def spec_job(name, ids, *arguments)
    result = File.join(@directory, "#{name.gsub(/\W+/, "-")}.json")
    Job.new(name: name, seconds: ids.sum { |id| seconds(id) }, summary: /measured again: /, env: { "SPEC_RESULT" => result },
            command: [*@rspec, "--no-color", "--seed", @seed, "--format", "progress", "--format", "json", "--out", result, *arguments])
  end

  # The ids of the examples that RSpec would run.
  def list(part)
    result = File.join(@directory, "#{part}.json")
    command = [*@rspec, "--dry-run", "--format", "json", "--out", result, "--tag", part == :timed ? "timed" : "~timed", *@picked]
    output = IO.popen(command, err: %i[child out], chdir: @root, &:read)
    abort "spec: #{output}" unless File.size?(result)
    read(result).map { |entry| entry["id"] }
  end

  # The examples in a result. A process that ended early leaves none, or half of it.
  def read(result)
    File.size?(result) ? JSON.parse(File.read(result)).fetch("examples") : []
  rescue JSON::ParserError
    []
  end

  def file_of(id)
    id[/[^\[]+/]
  end

  # The seconds of an example, the last time that it ran.
  def seconds(id)
    @known ||= File.exist?(STATUS) ? File.foreach(STATUS).to_h { |line| line.split("|").values_at(0, 2).map { |value| value.to_s.strip } } : {}
    @known[id]&.to_f || UNKNOWN
  end

  def ended(job)
    if (result = job.env&.fetch("SPEC_RESULT"))
      @examples += read(result)
      @retries += job.output.scan(/measured again: .*/) # after the dot of another example
    end
    if job.passed
      @output.puts job.output.lines.grep(job.summary)
    else
      @output.puts "", "#{job.name} failed:", job.output, ""
    end
  end

  def summarise(seconds)
    counts = @examples.group_by { |example| example["status"] }.transform_values(&:size)
    missing = @listed.values.flatten - @examples.map { |example| example["id"] }
    failures = counts.fetch("failed", 0)
    parts = [count(@examples.size, "example"), count(failures, "failure"), *("#{counts["pending"]} pending" if counts["pending"])]
    @output.puts "", format("Finished in %d minutes %d seconds, seed %s", *seconds.divmod(60), @seed), parts.join(", "),
                 "timed: #{@retries.size} measured again", "untimed: #{@again.size} passed alone", *@again.map { |it| "  #{it}" }
    @examples.select { |example| example["status"] == "failed" }.each { |entry| @output.puts "rspec #{entry["id"]} # #{entry["full_description"]}" }
    @output.puts "#{count(missing.size, "example")} did not run:", missing if missing.any?
    @output.puts "failed: #{@failed.map(&:name).join(", ")}" if @failed.any?
    failures.zero? && missing.empty? && @failed.empty?
  end

  def count(number, noun)
    "#{number} #{noun}#{"s" unless number == 1}"
  end
end
