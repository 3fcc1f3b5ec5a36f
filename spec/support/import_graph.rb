# frozen_string_literal: true

require "tsort"

# The imports between the modules of a crate, read from `use` lines and paths without a compiler.
#
# A module is a file of the root or of a folder, with all that lies below it: `format::pprof` is one, with its parts. Tests and
# comments are left out. A name that a folder re-exports counts for the module that defines it.
class ImportGraph
  include TSort

  USE = /^\s*(?:pub(?:\([a-z: ]+\))? )?use ([^;]+);/m
  CHILD = /^\s*(?:pub(?:\([a-z: ]+\))? )?mod (\w+);/

  # @return [Hash{String => Array<String>}] of each module: those that it imports
  attr_reader :modules

  # @param directory [String] the `src` of the crate
  def initialize(directory)
    @directory = directory
    @files = Dir["#{directory}/**/*.rs"].to_h { |file| [path_of(file), code(file)] }
    @modules = @files.keys.to_h { |path| [module_of(path), []] }
    @files.each do |path, code|
      own = module_of(path)
      @modules[own] |= targets(code, path).filter_map { |target| resolve(target) } - [own] unless map?(path)
    end
  end

  # @return [Array<String>] a line for each circle
  def circles
    strongly_connected_components.select { |component| component.size > 1 }.map { |entry| "circle: #{entry.sort.join(", ")}" }
  end

  # @param folders [Array<String>] from the top
  # @return [Array<String>] a line for each import of a layer above
  def upwards(folders)
    place = folders.each_with_index.to_h
    homeless = @modules.keys.map { |name| folder(name) }.uniq - folders - ["lib"]
    faults = @modules.flat_map do |from, targets|
      targets.select { |to| place.fetch(folder(to), 0) < place.fetch(folder(from), 0) }.map { |to| "upwards: #{from} imports #{to}" }
    end
    faults + homeless.map { |folder| "no place in the order of folders: #{folder}" }
  end

  # @return [String] the layers from the top: a module stands above all that it imports, but those of its circle
  def to_s
    depth = {}
    strongly_connected_components.each do |names| # TSort begins with those that import nothing
      below = names.flat_map { |name| @modules[name] - names }.map { |name| depth.fetch(name) }.max || 0
      names.each { |name| depth[name] = below + 1 }
    end
    lines = depth.sort_by { |name, layer| [-layer, name] }.map do |name, layer|
      format("%3d  %s%s", layer, name, @modules[name].empty? ? "" : " -> #{@modules[name].sort.join(", ")}")
    end
    lines.join("\n")
  end

  private

  def tsort_each_node(&block) = @modules.each_key(&block)
  def tsort_each_child(name, &block) = @modules.fetch(name).each(&block)

  # `src/session/aggregate/account.rs` is %w[session aggregate account].
  def path_of(file)
    path = file.delete_prefix("#{@directory}/").delete_suffix(".rs").split("/")
    path.last == "mod" ? path[0...-1] : path
  end

  def module_of(path) = path.first(2).join("::")
  def folder(name) = name.split("::").first

  # A file that only lists modules and re-exports their names: the map of the crate or of a folder.
  def map?(path)
    path == %w[lib] || (path.one? && @files[path].match?(CHILD) && !@files[path].match?(/^(?:pub(?:\(\w+\))? )?(?:fn|struct|enum|impl)\b/))
  end

  def code(file)
    return "" if File.basename(file) == "tests.rs"

    text = File.read(file).gsub(%r{//.*$}, "").gsub(/pub\(in [^)]*\)/, "pub")
    text.sub(/^#\[cfg\((?:all\()?test\b[^\n]*\]\nmod tests \{.*\z/m, "")
  end

  # All paths that code names from the root on: by `use`, in place, and those of its own children.
  def targets(code, own)
    uses = code.scan(USE).flatten.flat_map { |tree| expand(tree.gsub(/\s+/, "")) }
    rest = code.gsub(USE, "")
    named = rest.scan(/\b(?:crate|super)(?:::\w+)+/)
    children = code.scan(CHILD).flatten.select { |match| uses.any?(/\A#{match}::/) || rest.match?(/(?<!::)\b#{match}::/) }
    (uses + named).filter_map { |item| absolute(item.split("::"), own) } + children.map { |child| own + [child] }
  end

  # `a::{b, c::d}` is `a::b` and `a::c::d`.
  def expand(tree)
    open = tree.index("{") or return [tree[/\A[\w:]+/].to_s]
    depth = 0
    parts = tree[(open + 1)...-1].each_char.slice_when do |char, _|
      depth += { "{" => 1, "}" => -1 }.fetch(char, 0)
      char == "," && depth.zero?
    end
    parts.flat_map { |part| expand(tree[0...open] + part.join.delete_suffix(",")) }
  end

  def absolute(path, own)
    return path.drop(1) if path.first == "crate"

    ups = path.take_while { |entry| entry == "super" }.size
    own[0...-ups] + path.drop(ups) if ups.positive?
  end

  def resolve(path)
    return if path.empty?
    return module_of(path) if @modules.key?(module_of(path))

    exports = @files[path.first(1)].to_s.scan(/pub(?:\([a-z: ]+\))? use (?:self::)?(\w+)::([^;]+);/m)
    from = exports.find { |_, names| names.match?(/\b#{path[1]}\b/) } if path[1]
    target = [path.first, from&.first].compact.join("::")
    target if @modules.key?(target)
  end
end
