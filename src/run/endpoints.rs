//! What became of the endpoints of a cluster, for the record of a curve and its verification.

use super::Clock;
use crate::record::CurveRecord;
use crate::record::run::EndpointRecord;
use crate::targets::Table;
use crate::units::grouped;

/// Takes the endpoints of a table into the record of its curve, with the time at which one was first seen to be lost.
pub fn note(entry: &mut CurveRecord, table: &dyn Table, clock: &dyn Clock) {
    let before = std::mem::take(&mut entry.endpoints);
    for mut endpoint in table.endpoints() {
        if let Some(why) = &endpoint.lost_why {
            let known = before.iter().find(|known| known.name == endpoint.name && known.lost_why.is_some());
            endpoint.lost_at = known.map_or_else(|| Some(clock.wall()), |known| known.lost_at.clone());
            let note = format!("endpoint {} was lost: {why}", endpoint.name);
            if !entry.notes.contains(&note) {
                entry.notes.push(note);
            }
        }
        entry.endpoints.push(endpoint);
    }
}

/// What marks a sample that was measured on fewer servers than its label names.
pub fn word(entry: &CurveRecord) -> Option<&'static str> {
    entry.endpoints.iter().any(|endpoint| endpoint.lost_why.is_some()).then_some("fewer-endpoints")
}

/// What the counts through the endpoints show, if anything is wrong. An endpoint that was lost has no count, and a note.
pub fn problem(endpoints: &[EndpointRecord], expected: u64) -> Option<String> {
    let wrong = endpoints.iter().find(|endpoint| endpoint.counted_rows.is_some_and(|counted| counted != expected))?;
    Some(format!(
        "the table should hold {} rows and {} were counted through the endpoint {}",
        grouped(expected),
        grouped(wrong.counted_rows.unwrap_or_default()),
        wrong.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_differs_at_one_endpoint_names_it_and_a_lost_one_is_no_difference() {
        let at =
            |name: &str, counted_rows| EndpointRecord { name: name.into(), counted_rows, ..EndpointRecord::default() };
        assert_eq!(problem(&[], 5), None);
        assert_eq!(problem(&[at("a:1", Some(5)), at("b:2", None)], 5), None);
        let message = problem(&[at("a:1", Some(5)), at("b:2", Some(4))], 5).unwrap();
        assert!(message.contains("b:2") && message.contains('4'), "{message}");
    }
}
