//! How large the cache of a curve is, from what its run recorded: the variable that the plan's engine entry names.

use super::input::Input;
use crate::analyse::Curve;
use crate::analyse::evidence::Cache;
use crate::record::{CurveRecord, RunRecord};

/// The cache of a curve of the input.
pub fn cache_of(input: &Input, curve: &Curve) -> Option<Cache> {
    let run = input.runs.iter().find(|run| run.label == curve.run)?.record.as_ref()?;
    cache(run, input.record_of(curve)?)
}

/// The cache that the curve ran with; `None` where its engine has none of its own, or its size was not recorded.
fn cache(record: &RunRecord, curve: &CurveRecord) -> Option<Cache> {
    let index = record.curves.iter().position(|other| other.curve == curve.curve)?;
    let cell = record.plan.get("curves")?.get(index)?.get("cell")?;
    let cache = cell.get("engine_entry")?.get("cache")?;
    let of_target = |name: &str| record.targets.get(&curve.target)?.variables.get(name);
    let variable = cache.get("variable")?.as_str()?;
    let read_back = curve.variables.get(variable).or_else(|| of_target(variable));
    let kib = cache.get("unit").and_then(|unit| unit.as_str()) == Some("negative-kib");
    let bytes =
        read_back.and_then(|value| in_bytes(value, kib, curve)).or_else(|| cell.get("cache_bytes")?.as_u64())?;
    let only_indexes = cache.get("holds").and_then(|holds| holds.as_str()) == Some("indexes");
    (bytes > 0).then(|| Cache { variable: variable.to_owned(), bytes, only_indexes })
}

fn in_bytes(value: &str, kib: bool, curve: &CurveRecord) -> Option<u64> {
    if !kib {
        // Some engines (PBXT) keep their sizes as text: "12M".
        return crate::units::parse_bytes(value).ok();
    }
    let number: i64 = value.parse().ok()?;
    match number {
        ..0 => number.unsigned_abs().checked_mul(1024),
        // A positive number counts pages.
        _ => curve.variables.get("page_size")?.parse::<u64>().ok()?.checked_mul(number as u64),
    }
}

#[cfg(test)]
mod tests {
    use crate::record::test_support::run_record;

    fn found(unit: &str, value: Option<&str>, cache_bytes: Option<u64>) -> Option<u64> {
        let mut record = run_record(&["a", "b"]);
        let cache = serde_json::json!({ "variable": "v", "dynamic": true, "unit": unit });
        let cell = serde_json::json!({ "cell": { "engine_entry": { "cache": cache }, "cache_bytes": cache_bytes } });
        record.plan = serde_json::json!({ "curves": [{ "cell": {} }, cell] });
        record.curves[1].variables.extend(value.map(|value| ("v".to_owned(), value.to_owned())));
        record.curves[1].variables.insert("page_size".into(), "4096".into());
        assert_eq!(super::cache(&record, &record.curves[0].clone()), None);
        super::cache(&record, &record.curves[1].clone()).map(|cache| cache.bytes)
    }

    #[test]
    fn it_is_what_was_read_back_in_the_unit_of_the_variable() {
        assert_eq!(found("bytes", Some("67108864"), None), Some(64 << 20));
        assert_eq!(found("bytes", Some("12M"), None), Some(12 << 20));
        assert_eq!(found("negative-kib", Some("-16384"), None), Some(16 << 20));
        assert_eq!(found("negative-kib", Some("2000"), None), Some(2000 * 4096));
        assert_eq!(found("bytes", None, Some(5)), Some(5));
        assert_eq!(found("bytes", Some("default"), None), None);
        assert_eq!(found("bytes", None, None), None);
    }
}
