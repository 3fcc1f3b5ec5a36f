//! Sampling of blocks of memory by their bytes: sample points lie on the bytes as Poisson arrivals, and a block
//! is sampled if there is at least one on it.
//!
//! A block of `size` bytes is sampled with the probability `1 - exp(-size / mean)`. Its weight is the inverse of
//! that, so the expected sums are the true ones, whatever the sizes are. As the arrivals have no memory, it
//! makes no difference how many there were on the block.

use ::core::prelude::rust_2021::*;

use crate::rng;

/// Returns the number of bytes up to the next sample point, derived from random bits. At least 1.
#[inline]
#[must_use]
pub fn gap(bits: u64, mean: u64) -> u64 {
    rng::exponential_ns(bits, mean)
}

/// Returns the weight of a sampled block of `size` bytes, in blocks and in bytes. The fraction of a block
/// becomes a whole one with its own probability, derived from random bits.
#[must_use]
pub fn weight(size: u64, mean: u64, bits: u64) -> (u64, u64) {
    let (size, mean) = (size.max(1) as f64, mean.max(1) as f64);
    let blocks = -1.0 / (-size / mean).exp_m1();
    let uniform = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    ((blocks + uniform) as u64, (blocks * size) as u64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::assert;

    #[test]
    fn sums_of_weights_are_the_true_ones_whatever_the_sizes() {
        const MEAN: u64 = 64 << 10;
        let mut bits = 0x9e37_79b9_7f4a_7c15;
        let mut next = || {
            bits = rng::after(bits);
            bits
        };
        for size in [16, 700, 20 << 10, 64 << 10, 300 << 10, 5 << 20] {
            let number = (400 * MEAN).div_ceil(size).max(2_000);
            let (mut left, mut blocks, mut bytes) = (gap(next(), MEAN) as i64, 0, 0);
            for _ in 0..number {
                left -= size as i64;
                if left <= 0 {
                    let (more_blocks, more_bytes) = weight(size, MEAN, next());
                    (blocks, bytes) = (blocks + more_blocks, bytes + more_bytes);
                    left = gap(next(), MEAN) as i64;
                }
            }
            let (off, of_bytes) = (blocks as f64 / number as f64, bytes as f64 / (number * size) as f64);
            // With 400 samples or more, the standard deviation is at most 5 %.
            assert!((off - 1.0).abs() < 0.2, "{size}: {off} of the blocks");
            assert!((of_bytes - 1.0).abs() < 0.2, "{size}: {of_bytes} of the bytes");
        }
    }
}
