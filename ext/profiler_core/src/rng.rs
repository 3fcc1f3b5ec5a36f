//! Chance that is good enough to keep out of a program's step, and cheap enough for a hook.

/// The number after `bits` in a sequence (xorshift64) that comes back to it after 2^64 - 1 steps; 0 stays 0.
#[inline]
#[must_use]
pub fn after(bits: u64) -> u64 {
    let bits = bits ^ (bits << 13);
    let bits = bits ^ (bits >> 7);
    bits ^ (bits << 17)
}

/// A time that is distributed exponentially around `mean_ns`, as random bits have it. At least 1.
#[inline]
#[must_use]
pub(crate) fn exponential_ns(bits: u64, mean_ns: u64) -> u64 {
    // In (0, 1]: 53 bits are what a double holds.
    let uniform = ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64;
    (-uniform.ln() * mean_ns as f64) as u64 + 1
}
