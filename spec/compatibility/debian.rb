# frozen_string_literal: true

require "fileutils"

module Compatibility
  # Debian's packages: what is installed, and the source of it, fetched with apt-get into tmp/. The system's own lists and
  # settings of apt stay as they are.
  module Debian
    class Missing < StandardError; end

    KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
    SERIES = /\A(?:\d+:)?\d+\.\d+/
    ROOT_MARKER = "/.profiler-root" # bin/make-root leaves it: this root is ours to install into

    class << self
      # Source package and version of a binary package, e.g. ["ruby3.3", "3.3.8-2"].
      def source_of(package)
        out = IO.popen(["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${source:Package} ${source:Version}", package],
                       err: File::NULL, &:read)
        status, name, version = out.split
        [name, version] if status == "installed"
      end

      # Installs what is missing, in a root that we made; elsewhere says what to install.
      def need(packages)
        missing = packages.reject { |package| source_of(package) }
        return if missing.empty?
        raise Missing, "needs apt-get install #{missing.join(" ")}" unless File.exist?(ROOT_MARKER)

        install = %w[apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 install]
        quietly(*install, *missing) || (quietly("apt-get", "-qq", "update") && quietly(*install, *missing)) ||
          raise(Missing, "apt-get cannot install #{missing.join(" ")}")
      end

      # The unpacked source of a package, with Debian's patches.
      #
      # @param version [String, nil] the one that is wanted; the nearest there is, where the archive has that no more; nil is the newest
      # @return [Array(String, String)] the directory and the version
      def unpacked(name, version, into)
        FileUtils.mkdir_p(into)
        there = Dir.glob("#{into}/#{name}_*.version").find { |file| version.nil? || File.read(file).split.first == version }
        return [there.delete_suffix(".version"), File.read(there).split.last] if there

        found = candidates(name, version, into).find { |candidate| download(name, candidate, into) }
        raise Missing, "the archive has no source of #{name} #{version}" unless found

        directory = File.join(into, "#{name}_#{found}")
        dsc = File.join(into, "#{name}_#{found.sub(/\A\d+:/, "")}.dsc")
        FileUtils.rm_rf(directory)
        quietly("dpkg-source", "--no-check", "--extract", dsc, directory) || raise(Missing, "dpkg-source cannot unpack #{dsc}")
        File.write("#{directory}.version", "#{version || found} #{found}\n")
        [directory, found]
      end

      private

      # The version itself, then those of the same series (1.2 of 1.2.3), newest first.
      def candidates(name, version, into)
        update(into)
        listed = IO.popen([*apt("apt-cache", into), "showsrc", name], err: File::NULL, &:read).scan(/^Version: (\S+)$/).flatten.uniq
        listed = listed.sort_by { |entry| entry.scan(/\d+/).map(&:to_i) }.reverse
        return listed unless version

        [version, *listed.select { |entry| entry[SERIES] == version[SERIES] }].uniq & listed
      end

      def download(name, version, into)
        Dir.chdir(into) { quietly(*apt("apt-get", into), "-qq", "source", "--download-only", "#{name}=#{version}") }
      end

      def update(into)
        lists = File.join(into, "apt")
        return if @updated || File.exist?(File.join(lists, "sources.list"))

        FileUtils.mkdir_p(%w[lists/partial cache/archives/partial].map { |name| File.join(lists, name) })
        File.write(File.join(lists, "sources.list"), sources)
        @updated = quietly(*apt("apt-get", into), "-qq", "update") || raise(Missing, "apt-get cannot fetch the lists of sources")
      end

      # The places of this system's packages have their sources too, and Debian's unstable has the newest.
      def sources
        places = IO.popen(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)", "Created-By: Packages"], &:read)
        places = places.lines(chomp: true).grep(/debian/)
        places += places.grep(%r{/debian }).map { |place| place.sub(/ \S+ /, " sid ") }
        signed = File.exist?(KEYRING) ? "[signed-by=#{KEYRING}] " : ""
        places.uniq.map { |place| "deb-src #{signed}#{place}\n" }.join
      end

      def apt(command, into)
        lists = File.join(into, "apt")
        [command, "-o", "Dir::Etc::SourceList=#{lists}/sources.list", "-o", "Dir::Etc::SourceParts=-", "-o", "Dir::State::Lists=#{lists}/lists",
         "-o", "Dir::Cache=#{lists}/cache", "-o", "Acquire::Check-Valid-Until=false"]
      end

      def quietly(*command)
        system({ "DEBIAN_FRONTEND" => "noninteractive" }, *command, out: File::NULL, err: File::NULL)
      end
    end
  end
end
