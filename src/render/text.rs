//! How wide text is, without a font at hand.
//!
//! A picture is laid out on a machine that may have no font at all, and is shown on another. Widths are those of
//! DejaVu Sans, one of the widest of the usual sans-serif fonts, so that text laid out here fits there.

/// Advance widths of the printable ASCII characters in DejaVu Sans, in thousandths of the font size.
const ASCII: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];
/// Bold letters are wider by about this factor.
const BOLD: f64 = 1.13;

/// The width of `text` in pixels at `size` pixels.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// The width of `text` in bold letters.
pub fn bold_width(text: &str, size: f64) -> f64 {
    width(text, size) * BOLD
}

fn advance(character: char) -> f64 {
    match character {
        ' '..='~' => f64::from(ASCII[character as usize - 32]) / 1000.0,
        _ if columns(character) == 2 => 1.0,
        _ if columns(character) == 0 => 0.0,
        _ => 0.75,
    }
}

/// How many columns of a terminal a character takes: 0 for combining marks, 2 for East Asian letters and emoji.
///
/// The ranges are coarse: names are ASCII as a rule, and a misjudged letter costs a column.
pub fn columns(character: char) -> usize {
    match character as u32 {
        0x0000..=0x001F | 0x007F..=0x009F | 0x0300..=0x036F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 => 2,
        0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// Columns of a terminal that `text` takes.
pub fn text_columns(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Shortens `text` to `limit` pixels, leaving out its middle: what tells names apart stands at either end.
pub fn fitted(text: &str, size: f64, limit: f64) -> String {
    shortened(text, |shorter| width(shorter, size) <= limit)
}

/// Shortens `text` to `limit` columns of a terminal, leaving out its middle.
pub fn fitted_columns(text: &str, limit: usize) -> String {
    shortened(text, |shorter| text_columns(shorter) <= limit)
}

fn shortened(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let keeping = |kept: usize| -> String {
        let head = kept.div_ceil(2);
        letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - (kept - head)..]).collect()
    };
    // Halving, because a name of a megabyte would take a day one letter at a time.
    let (mut fitting, mut too_many) = (0, letters.len());
    while too_many - fitting > 1 {
        let middle = (fitting + too_many) / 2;
        if fits(&keeping(middle)) { fitting = middle } else { too_many = middle }
    }
    keeping(fitting)
}

/// Breaks `text` at spaces into lines of at most `limit` as `measure` counts; not at no-break spaces. A word that is longer stands alone.
pub fn wrapped(text: &str, limit: f64, measure: impl Fn(&str) -> f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(|letter: char| letter.is_ascii_whitespace()).filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if measure(&format!("{line} {word}")) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Replaces control characters, which XML has no way to write.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| {
            let writable = !letter.is_control() && !matches!(letter, '\u{FFFE}' | '\u{FFFF}');
            if writable { letter } else { ' ' }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_equally_wide_and_bold_is_wider() {
        assert_eq!(width("1111", 10.0), width("8080", 10.0));
        assert!(bold_width("Seconds", 20.0) > width("Seconds", 20.0));
        assert!(width("日本", 10.0) >= 20.0);
    }

    #[test]
    fn text_is_shortened_in_the_middle() {
        assert_eq!(fitted_columns("innodb uuid4", 20), "innodb uuid4");
        assert_eq!(fitted_columns("innodb uuid4 flush 2", 11), "innod…ush 2");
        assert_eq!(fitted_columns("innodb", 0), "…");
        let short = fitted("innodb uuid4 flush 2", 12.0, 60.0);
        assert!(width(&short, 12.0) <= 60.0 && short.contains('…'), "{short}");
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("one two three", 7.0, |line| line.len() as f64), ["one two", "three"]);
        assert_eq!(wrapped("averylongword x", 3.0, |line| line.len() as f64), ["averylongword", "x"]);
        assert_eq!(wrapped("", 3.0, |line| line.len() as f64), Vec::<String>::new());
    }

    #[test]
    fn control_characters_do_not_reach_a_picture() {
        assert_eq!(printable("a\u{0}b\u{1b}[1m\n"), "a b [1m ");
    }
}
