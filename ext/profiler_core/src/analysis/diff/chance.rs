//! The probability that chance alone results in a number at least as far from 0.

/// Returns the two-sided probability of the standard normal distribution.
pub(super) fn of_normal(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// Returns the two-sided probability of Student's distribution with `free` degrees of freedom, by Wallace's
/// approximation.
pub(super) fn of_student(t: f64, free: f64) -> f64 {
    let z = (8.0 * free + 1.0) / (8.0 * free + 3.0) * (free * (t * t / free).ln_1p()).sqrt();
    of_normal(z)
}

/// Computes the complementary error function by a Chebyshev fit whose relative error is below 1.2e-7
/// everywhere.
fn erfc(x: f64) -> f64 {
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x);
    let exponent = FIT.iter().rev().fold(0.0, |sum, it| sum * t + it);
    t * (exponent - x * x).exp()
}

/// Returns the median; 0 if there are no numbers.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = |place: usize| numbers.get(place).copied().unwrap_or(0.0);
    (middle(numbers.len().saturating_sub(1) / 2) + middle(numbers.len() / 2)) / 2.0
}

/// Returns the median of the chi-squared distribution with `free` degrees of freedom, by Wilson and
/// Hilferty's approximation.
pub(super) fn median_of_squares(free: f64) -> f64 {
    free * (1.0 - 2.0 / (9.0 * free)).powi(3)
}

/// Corrects the probabilities for their number (Holm): each becomes the probability that any of them comes as
/// far. A function that was not tested gets 1.
pub(super) fn corrected(chances: &[Option<f64>]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> =
        chances.iter().enumerate().filter_map(|(place, it)| it.map(|it| (place, it))).collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let tested = order.len();
    let mut all = vec![1.0; chances.len()];
    let mut least: f64 = 0.0;
    for (rank, (place, chance)) in order.into_iter().enumerate() {
        least = least.max(chance * (tested - rank) as f64).min(1.0);
        all.get_mut(place).into_iter().for_each(|it| *it = least);
    }
    all
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn p_values_match_published_tables() {
        for (z, chance) in [(0.0, 1.0), (1.96, 0.05), (2.5758, 0.01), (3.2905, 0.001)] {
            assert!((of_normal(z) - chance).abs() < 1e-4, "{z}: {}", of_normal(z));
            assert_eq!(of_normal(z), of_normal(-z));
        }
        for (t, free, chance) in [(2.776, 4.0, 0.05), (2.131, 15.0, 0.05), (4.015, 16.0, 0.001)] {
            assert!((of_student(t, free) / chance - 1.0).abs() < 0.03, "{t}: {}", of_student(t, free));
        }
    }

    #[test]
    fn medians_match_published_tables() {
        assert_eq!([median(vec![]), median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0])], [0.0, 2.0, 2.5]);
        for (free, middle) in [(4.0, 3.357), (10.0, 9.342)] {
            assert!((median_of_squares(free) / middle - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn corrects_for_multiple_comparisons() {
        assert_eq!(corrected(&[Some(0.01), None, Some(0.04), Some(0.03)]), [0.03, 1.0, 0.06, 0.06]);
    }
}
