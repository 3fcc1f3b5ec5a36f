# frozen_string_literal: true

require "json"
require "open3"

# The crates that are linked into the extension: a gem that has the extension ready hands on their licences, and lists them.
module Parts
  LICENCE_FILE = /\A(licen[cs]e|copying|unlicense)/i

  # A crate, as cargo describes it, and the digest that Cargo.lock has of it.
  Crate = Struct.new(:name, :version, :licence, :source, :directory, :digest, keyword_init: true) do
    # The texts of its licence. Where it has the choice, that is MIT's, the shortest.
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
      JSON.parse(cargo(root, "metadata", "--format-version", "1"))["packages"].filter_map do |it|
        next unless it["source"] && linked.include?([it["name"], "v#{it["version"]}"])

        Crate.new(name: it["name"], version: it["version"], licence: it["license"].to_s.gsub("/", " OR "),
                  source: it["repository"], directory: File.dirname(it["manifest_path"]), digest: digests.fetch([it["name"], it["version"]]))
      end.sort_by { |it| [it.name, it.version] }
    end

    # Each licence once, below the crates that have it.
    #
    # @raise [RuntimeError] for a crate that comes without one
    def licences(crates)
      by_texts = crates.group_by(&:texts)
      raise "no text of the licence of #{by_texts[[]].map(&:name).join(", ")}" if by_texts.key?([])

      parts = by_texts.map do |texts, of|
        heads = of.map { |it| "#{it.name} #{it.version} (#{it.licence}) #{it.source}" }
        [heads, "", *texts.flat_map { |text| [text, ""] }].join("\n")
      end
      "The extension of this gem contains these crates. Their sources are at the addresses below.\n\n#{parts.join("\n#{"-" * 80}\n\n")}"
    end

    # A list of them for machines, in CycloneDX 1.5.
    def bill(crates, version)
      components = crates.map do |it|
        { "type" => "library", "name" => it.name, "version" => it.version, "purl" => "pkg:cargo/#{it.name}@#{it.version}",
          "hashes" => [{ "alg" => "SHA-256", "content" => it.digest }], "licenses" => [{ "expression" => it.licence }] }
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
