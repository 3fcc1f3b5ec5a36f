//! The rows of a ledger.

use serde::{Deserialize, Serialize};

/// Malloc's counts of itself (`mallinfo2`), in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MallocCount {
    /// Chunks in use, including those that threads keep.
    pub in_use: u64,
    /// Free chunks, including the ends of arenas.
    pub free: u64,
    /// Blocks that it mapped each for itself.
    pub mapped: u64,
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
    /// The class, or what else it is.
    pub name: String,
    /// All resident bytes: slots and chunks.
    pub bytes: u64,
    /// Its objects.
    pub objects: u64,
    /// Bytes of the slots of its objects.
    pub slot_bytes: u64,
    /// Chunks to which its objects refer.
    pub chunks: u64,
    /// Bytes of these.
    pub chunk_bytes: u64,
    /// Chunks behind those.
    pub behind: u64,
    /// Bytes of these.
    pub behind_bytes: u64,
}

/// A file, and the resident memory that its mappings take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// The path.
    pub path: String,
    /// Bytes as they are in the file.
    pub bytes: u64,
    /// Bytes that were written: its data.
    pub written: u64,
}

/// An arena of malloc, in resident bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArenaRow {
    /// Whether it is the main one.
    pub main: bool,
    /// Chunks in use.
    pub used: u64,
    /// Free chunks.
    pub free: u64,
    /// Its free end.
    pub top: u64,
}

/// Unreferenced chunks of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRow {
    /// Bytes of each chunk, its header included.
    pub size: u64,
    /// The number of chunks.
    pub count: u64,
    /// Resident bytes.
    pub bytes: u64,
}

/// Unreferenced chunks that refer to the code or the constants of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintRow {
    /// The file.
    pub path: String,
    /// The number of chunks.
    pub count: u64,
    /// Resident bytes.
    pub bytes: u64,
}

/// A finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The key of its kind.
    pub kind: String,
    /// The bytes that it is about.
    pub bytes: u64,
    /// The finding as a sentence without its end.
    pub text: String,
    /// The remedy, as sentences.
    pub remedy: String,
}
