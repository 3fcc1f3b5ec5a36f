//! Chance that is good enough to keep out of a program's step, and cheap enough for a hook.

/// The number after `bits` in a sequence (xorshift64) that comes back to it after 2^64 - 1 steps; 0 stays 0.
#[inline]
#[must_use]
pub fn after(bits: u64) -> u64 {
    let bits = bits ^ (bits << 13);
    let bits = bits ^ (bits >> 7);
    bits ^ (bits << 17)
}
