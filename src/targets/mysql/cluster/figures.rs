//! What the servers of a cluster count, together.

use super::session::Counted;
use crate::record::detail::OF_ENDPOINT;
use crate::targets::reading::{Figure, Reading};

/// The figures of several endpoints under their names, and their sums under the plain ones. Sums of counts are left out where
/// not the same endpoints were read the last time: the difference would be none.
pub fn together(readings: &[(&str, Reading)], is_same: bool) -> Reading {
    let mut sums = Reading::new();
    let mut all = Reading::new();
    for (endpoint, reading) in readings {
        for (name, figure) in reading {
            all.insert(format!("{endpoint}{OF_ENDPOINT}{name}"), *figure);
            let sum = sums.entry(name.clone()).or_insert(match figure {
                Figure::Total(_) => Figure::Total(0.0),
                Figure::Level(_) => Figure::Level(0.0),
            });
            match (sum, figure) {
                (Figure::Total(sum), Figure::Total(value)) | (Figure::Level(sum), Figure::Level(value)) => {
                    *sum += value
                }
                _ => {}
            }
        }
    }
    // What one endpoint does not tell has no sum.
    sums.retain(|name, figure| {
        readings.iter().all(|(_, reading)| reading.contains_key(name))
            && (is_same || matches!(figure, Figure::Level(_)))
    });
    all.extend(sums);
    all
}

/// What an endpoint tells, with what rowcliff counted of it: that is known of an engine too whose servers count nothing.
pub fn with_own_counts(mut reading: Reading, counted: &Counted) -> Reading {
    for (name, count) in [("rows", counted.rows), ("errors", counted.errors)] {
        reading.insert(format!("rowcliff_{name}"), Figure::Total(count as f64));
    }
    reading
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_an_engine_without_counters_have_those_of_rowcliff() {
        let counted = |rows| Counted { rows, errors: 1, ..Counted::default() };
        let readings = [
            ("a:1", with_own_counts(Reading::new(), &counted(30))),
            ("b:1", with_own_counts(Reading::new(), &counted(12))),
        ];
        let all = together(&readings, true);
        assert_eq!(all["a:1/rowcliff_rows"], Figure::Total(30.0));
        assert_eq!((all["rowcliff_rows"], all["rowcliff_errors"]), (Figure::Total(42.0), Figure::Total(2.0)));
        // What only one of them tells has no sum, whatever is known of the others.
        let told = Reading::from([("reads".into(), Figure::Total(5.0))]);
        let readings =
            [("a:1", with_own_counts(told, &counted(1))), ("b:1", with_own_counts(Reading::new(), &counted(1)))];
        assert!(!together(&readings, true).contains_key("reads"));
    }

    #[test]
    fn counters_stand_by_endpoint_and_as_a_sum() {
        let reading = |reads, dirty| {
            Reading::from([("reads".into(), Figure::Total(reads)), ("dirty".into(), Figure::Level(dirty))])
        };
        let mut second = reading(5.0, 1.0);
        second.insert("only_here".into(), Figure::Total(9.0));
        let readings = [("a:1", reading(2.0, 3.0)), ("/run/b.sock", second)];
        let all = together(&readings, true);
        assert_eq!(all["a:1/reads"], Figure::Total(2.0));
        assert_eq!(all["/run/b.sock/reads"], Figure::Total(5.0));
        assert_eq!((all["reads"], all["dirty"]), (Figure::Total(7.0), Figure::Level(4.0)));
        assert!(all.contains_key("/run/b.sock/only_here") && !all.contains_key("only_here"));
        let other = together(&readings, false);
        assert!(!other.contains_key("reads"), "other endpoints than the last time: how far it moved is not known");
        assert_eq!(other["dirty"], Figure::Level(4.0));
    }
}
