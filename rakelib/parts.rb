# frozen_string_literal: true

require "json"
require "open3"

# The crates that are linked into the extension. A platform gem includes their licences and a list of them.
module Parts
  LICENCE_FILE = /\A(licen[cs]e|copying|unlicense)/i

  # A crate, as cargo describes it, and the digest that Cargo.lock has of it.
  Crate = Struct.new(:name, :version, :licence, :source, :directory, :digest, keyword_init: true) do
    # The texts of its licence. If there is a choice, MIT's, which is the shortest.
    def texts
      files = Dir.children(directory).grep(LICENCE_FILE).sort
      mit = files.grep(/mit/i)
      (licence.include?("MIT") && mit.any? ? mit : files).map { |file| File.read(File.join(directory, file), encoding: Encoding::UTF_8).strip }
    end
  end

  class << self
    # @return [Array<Crate>] by name, without our own
    def crates(root)
      linked = cargo(root, "tree", "--package", "profiler", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}")
               .lines.map { |line| line.split.first(2) }.uniq
      digests = File.read(File.join(root, "Cargo.lock")).scan(/^name = "(.+)"\nversion = "(.+)"\nsource = .+\nchecksum = "(\h+)"/).to_h { |name, version, digest| [[name, version], digest] }
      JSON.parse(cargo(root, "metadata", "--format-version", "1"))["packages"].filter_map do |crate|
        next unless crate["source"] && linked.include?([crate["name"], "v#{crate["version"]}"])

        Crate.new(name: crate["name"], version: crate["version"], licence: crate["license"].to_s.gsub("/", " OR "),
                  source: crate["repository"], directory: File.dirname(crate["manifest_path"]), digest: digests.fetch([crate["name"], crate["version"]]))
      end.sort_by { |crate| [crate.name, crate.version] }
    end

    # Each licence once, below the crates that have it.
    #
    # @raise [RuntimeError] for a crate that comes without one
    def licences(crates)
      by_texts = crates.group_by(&:texts)
      raise "no text of the licence of #{by_texts[[]].map(&:name).join(", ")}" if by_texts.key?([])

      parts = by_texts.map do |texts, of|
        heads = of.map { |crate| "#{crate.name} #{crate.version} (#{crate.licence}) #{crate.source}" }
        [heads, "", *texts.flat_map { |text| [text, ""] }].join("\n")
      end
      "The extension of this gem contains these crates. Their sources are at the addresses below.\n\n#{parts.join("\n#{"-" * 80}\n\n")}"
    end

    # A machine-readable list of them, in CycloneDX 1.5.
    def bill(crates, version)
      components = crates.map do |crate|
        { "type" => "library", "name" => crate.name, "version" => crate.version, "purl" => "pkg:cargo/#{crate.name}@#{crate.version}",
          "hashes" => [{ "alg" => "SHA-256", "content" => crate.digest }], "licenses" => [{ "expression" => crate.licence }] }
      end
      JSON.pretty_generate("bomFormat" => "CycloneDX", "specVersion" => "1.5", "version" => 1,
                           "metadata" => { "component" => { "type" => "library", "name" => "profiler", "version" => version, "purl" => "pkg:gem/profiler@#{version}" } },
                           "components" => components)
    end

    private

    def cargo(root, *command)
      said, errors, status = Open3.capture3("cargo", *command, "--locked", chdir: root)
      raise "cargo #{command.first} failed: #{errors}" unless status.success?

      said
    end
  end
end
