//! Numbers for people: three digits and a unit.

/// Formats nanoseconds: `1.23 s`, `45.1 ms`, `12 us`, `80 ns`, `0`.
#[must_use]
pub fn duration(ns: u64) -> String {
    match ns {
        0 => "0".into(),
        1..=999 => format!("{ns} ns"),
        // From here on, the bounds are where rounding would reach the next unit.
        1_000..=999_499 => format!("{:.0} us", ns as f64 / 1e3),
        999_500..=999_499_999 => format!("{} ms", three_digits(ns as f64 / 1e6)),
        _ => format!("{} s", three_digits(ns as f64 / 1e9)),
    }
}

/// Formats nanoseconds of a length that a user chose: `1 ms`, `1.5 ms`, `250 us`.
#[must_use]
pub fn round_duration(ns: u64) -> String {
    let (unit_ns, unit) = match ns {
        0..=999 => (1, "ns"),
        1_000..=999_999 => (1_000, "us"),
        1_000_000..=999_999_999 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    format!("{} {unit}", ns as f64 / unit_ns as f64)
}

/// Formats bytes: `45.1 MiB`, `512 B`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    if value < 1024.0 {
        return format!("{bytes} B");
    }
    let mut unit = "KiB";
    value /= 1024.0;
    for larger in ["MiB", "GiB", "TiB", "PiB", "EiB"] {
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", three_digits(value))
}

/// Formats a difference of bytes: `+45.1 MiB`, `-512 B`.
#[must_use]
pub fn signed_bytes(growth: i64) -> String {
    let sign = if growth < 0 { '-' } else { '+' };
    format!("{sign}{}", bytes(growth.unsigned_abs()))
}

/// Formats a number with commas: `1,234,567`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with its noun: `1 thread`, `2 threads`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Formats a share: `12.3%`, `0.04%`. A share of zero in zero is `0.0%`.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    if share > 0.0 && share < 0.095 {
        format!("{share:.2}%")
    } else {
        format!("{share:.1}%")
    }
}

/// Formats nanoseconds since 1970 as `2026-11-21 05:32:10 UTC`.
#[must_use]
pub fn date(since_1970_ns: u64) -> String {
    let seconds = since_1970_ns / 1_000_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Returns the year, month and day of a day counted from 1970-01-01. Counts off whole years, of which there
/// are at most 600, and then whole months.
fn civil(mut day: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        count(value.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            (0, "0"),
            (80, "80 ns"),
            (12_345, "12 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (45_123_456, "45.1 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1.00 s"),
            (1_234_567_890, "1.23 s"),
            (9_996_000_000, "10.0 s"),
            (1_234_000_000_000, "1,234 s"),
        ];
        cases.into_iter().for_each(|(ns, text)| assert_eq!(duration(ns), text));
    }

    #[test]
    fn round_durations_have_no_trailing_digits() {
        let cases = [(1_000_000, "1 ms"), (1_500_000, "1.5 ms"), (250_000, "250 us"), (1_000_000_000, "1 s")];
        cases.into_iter().for_each(|(ns, text)| assert_eq!(round_duration(ns), text));
    }

    #[test]
    fn sizes_counts_and_shares() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1_536), "1.50 KiB");
        assert_eq!(bytes(1_048_575), "1.00 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "thread"), "1 thread");
        assert_eq!(counted(1_000, "thread"), "1,000 threads");
        assert_eq!(percent(123, 1000), "12.3%");
        assert_eq!(percent(4, 10_000), "0.04%");
        assert_eq!(percent(0, 0), "0.0%");
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_795_239_130_500_000_000), "2026-11-21 05:32:10 UTC");
        assert_eq!(date(1_798_761_599_000_000_000), "2026-12-31 23:59:59 UTC");
        assert_eq!(date(u64::MAX), "2554-07-21 23:34:33 UTC");
    }
}
