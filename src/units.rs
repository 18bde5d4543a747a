//! Rows, bytes, seconds and rates: reading what people type, and writing for people.
//!
//! Rows are decimal (`300M` is 300,000,000), bytes are binary as in server options (`1G` is 2^30), durations are
//! `90s 30m 12h 2d`. Machines get plain numbers with `.`; only the functions named `human_*` scale.

use std::time::Duration;

/// Parses a count of rows: digits, underscores, an optional decimal fraction and one of `k M G`.
///
/// # Errors
/// A sentence that says what is wrong, without the flag's name (clap adds it).
pub fn parse_rows(text: &str) -> Result<u64, String> {
    let rows = scaled(text, &[("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000), ("b", 1_000_000_000)])
        .ok_or_else(|| format!("{text:?} is not a number of rows; write it as 50000, 50k, 300M or 1_000_000"))??;
    if rows == 0 {
        return Err("must be at least 1".into());
    }
    Ok(rows)
}

/// Parses a count of bytes: digits, an optional decimal fraction and one of `K M G T` (powers of 1024).
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let stem = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let bytes = scaled(stem, &[("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)])
        .ok_or_else(|| format!("{text:?} is not a size; write it as 67108864, 64M or 1G (powers of 1024)"))??;
    if bytes == 0 {
        return Err("must be at least 1".into());
    }
    Ok(bytes)
}

/// Parses a duration: a number with one of `ms s m h d`; a bare number is seconds.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let problem = || format!("{text:?} is not a duration; write it as 90s, 30m, 12h or 2d");
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let number: f64 = number.trim().parse().map_err(|_| problem())?;
    let factor = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(problem()),
    };
    if number <= 0.0 || !number.is_finite() {
        return Err("must be more than 0".into());
    }
    Duration::try_from_secs_f64(number * factor).map_err(|_| problem())
}

/// `None`: not a number of this form. `Some(Err)`: a number, but not one that can be used.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<Result<u64, String>> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if lower.starts_with('-') {
        return Some(Err("must be at least 1, and is negative".into()));
    }
    let (digits, factor) = units
        .iter()
        .find_map(|(suffix, factor)| lower.strip_suffix(suffix).map(|digits| (digits.trim_end(), *factor)))
        .unwrap_or((lower.as_str(), 1));
    let well_formed = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '_' || c == '.')
        && digits.matches('.').count() <= 1;
    if !well_formed {
        return None;
    }
    let digits = digits.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let too_large = || format!("{text} is too large; the most is {}", u64::MAX);
    // Decimal fractions are taken exactly: 1.5M is 1,500,000, and 0.0001k is refused rather than rounded.
    let Ok(whole) = whole.parse::<u64>() else { return Some(Err(too_large())) };
    let mut value = match whole.checked_mul(factor) {
        Some(value) => value,
        None => return Some(Err(too_large())),
    };
    if !fraction.is_empty() {
        let Ok(numerator) = fraction.parse::<u128>() else { return Some(Err(too_large())) };
        let Some(denominator) = 10_u128.checked_pow(fraction.len() as u32) else { return Some(Err(too_large())) };
        let Some(product) = numerator.checked_mul(u128::from(factor)) else { return Some(Err(too_large())) };
        if product % denominator != 0 {
            return Some(Err(format!("{text} is not a whole number")));
        }
        value = match value.checked_add((product / denominator) as u64) {
            Some(value) => value,
            None => return Some(Err(too_large())),
        };
    }
    Some(Ok(value))
}

/// Digits in groups of three: `1,234,567`. For tables and sentences.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Rows for people: `950`, `50k`, `1.25M`, `34G`. Exact where three digits after the point suffice.
pub fn human_rows(rows: u64) -> String {
    let (scale, unit) = match rows {
        0..1_000 => return rows.to_string(),
        1_000..1_000_000 => (1e3, "k"),
        1_000_000..1_000_000_000 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let text = format!("{:.3}", rows as f64 / scale);
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Bytes for people: `512 B`, `64 MiB`, `1.5 GiB`.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value.fract() == 0.0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// Seconds for people, three significant digits below a minute: `0.00123 s`, `1.23 s`, `12.3 s`, `2m05s`, `3h20m`, `2d03h`.
pub fn human_seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "-".into();
    }
    let whole = seconds.round() as u64;
    match seconds {
        0.0 => "0 s".into(),
        s if s < 59.95 => format!("{} s", significant(s)),
        s if s < 3600.0 => format!("{}m{:02}s", whole / 60, whole % 60),
        s if s < 86_400.0 => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
        _ => format!("{}d{:02}h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// A rate for people: `950`, `61.2k`, `1.25M` (per second; the unit is the caller's).
pub fn human_rate(per_second: f64) -> String {
    // 999.9k is 1.00M: a figure has the unit that it has once it is rounded.
    match three_digits(per_second) {
        r if !r.is_finite() => "-".into(),
        r if r < 1e3 => significant(r),
        r if r < 1e6 => format!("{}k", significant(r / 1e3)),
        r if r < 1e9 => format!("{}M", significant(r / 1e6)),
        r => format!("{}G", significant(r / 1e9)),
    }
}

/// A count times a factor: rounded, at least 1.
pub fn times(count: u64, factor: f64) -> u64 {
    ((count as f64 * factor).round() as u64).max(1)
}

/// Rounded to three significant digits.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Three significant digits, never in scientific notation and never a bare `0.000` for a positive number.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // 9.999 is 10.0, not 10.00.
    let magnitude = three_digits(value).abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 12) as usize;
    format!("{value:.decimals$}")
}

/// Text that a terminal takes for text: control characters are written as `\u001b`, which is the same character to a reader of JSON.
/// Lines and tabs stay where `lines` says so.
pub fn printable(text: &str, lines: bool) -> std::borrow::Cow<'_, str> {
    let is_harmless = |c: char| !c.is_control() || lines && matches!(c, '\n' | '\t');
    if text.chars().all(is_harmless) {
        return text.into();
    }
    let written = |c: char| if is_harmless(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    text.chars().map(written).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_rounded_up_keeps_three_digits() {
        for (value, text) in
            [(9.999, "10.0"), (99.96, "100"), (0.09999, "0.100"), (9.99, "9.99"), (999.7, "1000"), (-9.999, "-10.0")]
        {
            assert_eq!(significant(value), text);
        }
        for (rate, text) in [(9_999.99, "10.0k"), (999_900.0, "1.00M"), (999.7, "1.00k"), (999.4, "999")] {
            assert_eq!(human_rate(rate), text);
        }
    }

    #[test]
    fn rows_are_decimal_and_exact() {
        assert_eq!(parse_rows("300M"), Ok(300_000_000));
        assert_eq!(parse_rows("50k"), Ok(50_000));
        assert_eq!(parse_rows("1_000_000"), Ok(1_000_000));
        assert_eq!(parse_rows("1.5M"), Ok(1_500_000));
        assert_eq!(parse_rows("34000000000"), Ok(34_000_000_000));
        assert_eq!(parse_rows("34G"), Ok(34_000_000_000));
    }

    #[test]
    fn rows_that_are_none_are_refused_with_the_reason() {
        for text in
            ["0", "0M", "-5", "-1k", "", "M", "1.0001k", "1e6", "12x", "99999999999999999999", "20000000000G", "1..5M"]
        {
            assert!(parse_rows(text).is_err(), "{text:?} was taken");
        }
        assert!(parse_rows("-5").unwrap_err().contains("negative"));
        assert!(parse_rows("0").unwrap_err().contains("at least 1"));
    }

    #[test]
    fn bytes_are_binary_as_in_server_options() {
        assert_eq!(parse_bytes("1G"), Ok(1 << 30));
        assert_eq!(parse_bytes("64M"), Ok(64 << 20));
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("1.5K"), Ok(1536));
        assert!(parse_bytes("a lot").is_err());
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("30m"), Ok(Duration::from_secs(1800)));
        assert_eq!(parse_duration("2d"), Ok(Duration::from_secs(172_800)));
        assert_eq!(parse_duration("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0s", "-1s", "10x", "s", "1e400d"] {
            assert!(parse_duration(text).is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn people_get_scaled_figures() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(human_rows(1_250_000), "1.25M");
        assert_eq!(human_rows(34_000_000_000), "34G");
        assert_eq!(human_bytes(64 << 20), "64 MiB");
        assert_eq!(human_seconds(0.00123), "0.00123 s");
        assert_eq!(human_seconds(125.0), "2m05s");
        assert_eq!(human_seconds(12_000.0), "3h20m");
        assert_eq!(human_rate(61_234.0), "61.2k");
        assert_eq!(significant(0.000_012_3), "0.0000123");
    }

    #[test]
    fn no_control_character_reaches_a_terminal() {
        assert_eq!(printable("a\u{1b}[31mred\u{9b}m\u{7f}\r", true), "a\\u001b[31mred\\u009bm\\u007f\\u000d");
        assert_eq!(printable("größe\n\t", true), "größe\n\t");
        assert_eq!(printable("größe\n\t", false), "größe\\u000a\\u0009");
    }
}
