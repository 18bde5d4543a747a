//! Days and seconds as text, without a calendar library in the hot path.

/// Days from 1970-01-01 to 2000-01-01.
pub const DAY_2000: i64 = 10_957;
/// Days from 1970-01-01 to 2012-01-01.
pub const DAY_2012: i64 = 15_340;
/// Days from 1970-01-01 to 2025-01-01.
pub const DAY_2025: i64 = 20_089;
/// Days from 1970-01-01 to 1000-01-01.
pub const DAY_1000: i64 = -354_285;
/// Days from 1970-01-01 to 10000-01-01.
pub const DAY_10000: i64 = 2_932_897;
/// Days from 1970-01-01 to 2038-01-01, before the end of TIMESTAMP.
pub const DAY_2038: i64 = 24_837;
/// Seconds of a day.
pub const DAY_SECONDS: i64 = 86_400;

/// Year, month and day, from days since 1970-01-01.
///
/// Howard Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
pub fn civil(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month as u8, day as u8)
}

/// Appends `YYYY-MM-DD`.
pub fn push_date(out: &mut Vec<u8>, days: i64) {
    let (year, month, day) = civil(days);
    push_padded(out, year as u64, 4);
    out.push(b'-');
    push_padded(out, u64::from(month), 2);
    out.push(b'-');
    push_padded(out, u64::from(day), 2);
}

/// Appends `HH:MM:SS`, with hours beyond 24 and `fraction` digits after the second where they are asked for.
pub fn push_time(out: &mut Vec<u8>, units: u64, fraction: u8) {
    let scale = 10_u64.pow(u32::from(fraction));
    let seconds = units / scale;
    push_padded(out, seconds / 3_600, 2);
    out.push(b':');
    push_padded(out, seconds / 60 % 60, 2);
    out.push(b':');
    push_padded(out, seconds % 60, 2);
    if fraction > 0 {
        out.push(b'.');
        push_padded(out, units % scale, usize::from(fraction));
    }
}

/// Appends the digits of `number`, with zeros in front up to `width`.
pub fn push_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    out.resize(out.len() + width.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(digits);
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let epoch = Date::constant(1970, 1, 1);
        for days in (DAY_1000..DAY_10000).step_by(97).chain([DAY_1000, -1, 0, 59, 60, DAY_10000 - 1]) {
            let date = epoch.checked_add(jiff::Span::new().days(days)).unwrap();
            assert_eq!(civil(days), (i64::from(date.year()), date.month() as u8, date.day() as u8));
        }
    }

    #[test]
    fn the_constants_are_the_days_they_name() {
        for (days, year) in
            [(DAY_2000, 2000), (DAY_2025, 2025), (DAY_1000, 1000), (DAY_10000, 10_000), (DAY_2038, 2038)]
        {
            assert_eq!(civil(days), (year, 1, 1));
        }
    }

    #[test]
    fn text_has_its_zeros() {
        let text = |push: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            push(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&|out| push_date(out, DAY_2000 + 31)), "2000-02-01");
        assert_eq!(text(&|out| push_time(out, 3_661, 0)), "01:01:01");
        assert_eq!(text(&|out| push_time(out, 3_661_000_005, 6)), "01:01:01.000005");
        assert_eq!(text(&|out| push_time(out, 3_020_399, 0)), "838:59:59");
    }
}
