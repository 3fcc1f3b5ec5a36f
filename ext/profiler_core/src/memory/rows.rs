//! The rows of a ledger.

use serde::{Deserialize, Serialize};

/// The counts of malloc itself (`mallinfo2`), in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MallocCount {
    /// Chunks in use, including those that threads keep.
    pub in_use: u64,
    /// Free chunks, including the ends of arenas.
    pub free: u64,
    /// Blocks with a mapping of their own.
    pub mapped: u64,
}

/// The counts of jemalloc itself (`mallctl`), in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JemallocCount {
    /// Blocks in use.
    pub allocated: u64,
    /// Pages with blocks in use.
    pub active: u64,
    /// Data of jemalloc itself.
    pub metadata: u64,
    /// Resident pages, at most: active ones, its own data, and free ones that it keeps for some seconds.
    pub resident: u64,
    /// Address space that it keeps without memory.
    pub retained: u64,
    /// The number of arenas.
    pub arenas: u64,
}

/// Resident memory of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRow {
    /// The key of the kind.
    pub kind: String,
    /// Resident bytes.
    pub bytes: u64,
    /// Chunks, slots, stacks, arenas or pages; 0 if they are not counted.
    pub count: u64,
}

/// The memory of one owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRow {
    /// The name of the class, or of another kind of owner.
    pub name: String,
    /// Resident bytes of slots and chunks together.
    pub bytes: u64,
    /// The number of the owner's objects.
    pub objects: u64,
    /// Resident bytes of the slots of these objects.
    pub slot_bytes: u64,
    /// The number of chunks to which these objects refer directly.
    pub chunks: u64,
    /// Resident bytes of these chunks.
    pub chunk_bytes: u64,
    /// The number of chunks that are reached only through other chunks.
    pub behind: u64,
    /// Resident bytes of these chunks.
    pub behind_bytes: u64,
}

/// The live objects of a class, estimated from slots of Ruby's heap that are chosen at regular distances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassRow {
    /// The name of the class, or of the type of the VM's own objects.
    pub name: String,
    /// The number of objects.
    pub objects: u64,
    /// The bytes of their slots, without what is in malloc.
    pub bytes: u64,
}

/// A file, and the resident memory that its mappings take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// The path.
    pub path: String,
    /// Resident bytes that are unchanged from the file.
    pub bytes: u64,
    /// Resident bytes that the process has written: the data of a library.
    pub written: u64,
}

/// An arena of malloc, in resident bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaRow {
    /// Whether this is the main arena.
    pub main: bool,
    /// Chunks in use.
    pub used: u64,
    /// Free chunks.
    pub free: u64,
    /// The free end of the arena.
    pub top: u64,
}

/// Unreferenced chunks of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRow {
    /// The size of each chunk in bytes, including its header.
    pub size: u64,
    /// The number of chunks.
    pub count: u64,
    /// Resident bytes.
    pub bytes: u64,
}

/// The unreferenced chunks that refer to code or constants of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintRow {
    /// The path of the file.
    pub path: String,
    /// The number of chunks.
    pub count: u64,
    /// Resident bytes.
    pub bytes: u64,
}

/// A finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerFinding {
    /// The key of its kind.
    pub kind: String,
    /// The bytes that the finding is about.
    pub bytes: u64,
    /// The finding, as a sentence without a period.
    pub text: String,
    /// The remedy, as whole sentences.
    pub remedy: String,
}
