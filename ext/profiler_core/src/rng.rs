//! Random numbers that are good enough not to fall into step with a program, and cheap enough for a hook.

/// Returns the number after `bits` in a sequence (xorshift64) that repeats after 2^64 - 1 steps; 0 stays 0.
#[inline]
#[must_use]
pub fn after(bits: u64) -> u64 {
    let bits = bits ^ (bits << 13);
    let bits = bits ^ (bits >> 7);
    bits ^ (bits << 17)
}

/// Returns a time that is distributed exponentially around `mean_ns`, derived from random bits. At least 1.
#[inline]
#[must_use]
pub(crate) fn exponential_ns(bits: u64, mean_ns: u64) -> u64 {
    // The result is in (0, 1]: a double holds 53 bits.
    let uniform = ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64;
    (-uniform.ln() * mean_ns as f64) as u64 + 1
}
