//! How large the cache of a curve is, from what its run recorded: the variable that the plan's engine entry names.

use crate::record::{CurveRecord, RunRecord};

/// Bytes of the cache that the curve ran with; `None` where its engine has no cache of its own, or that was not recorded.
pub fn cache_bytes(record: &RunRecord, curve: &CurveRecord) -> Option<u64> {
    let index = record.curves.iter().position(|other| other.curve == curve.curve)?;
    let cell = record.plan.get("curves")?.get(index)?.get("cell")?;
    let cache = cell.get("engine_entry")?.get("cache")?;
    let of_target = |name: &str| record.targets.get(&curve.target)?.variables.get(name);
    let read_back = cache.get("variable").and_then(|name| name.as_str());
    let read_back = read_back.and_then(|name| curve.variables.get(name).or_else(|| of_target(name)));
    let kib = cache.get("unit").and_then(|unit| unit.as_str()) == Some("negative-kib");
    read_back.and_then(|value| in_bytes(value, kib, curve)).or_else(|| cell.get("cache_bytes")?.as_u64())
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
        assert_eq!(super::cache_bytes(&record, &record.curves[0].clone()), None);
        super::cache_bytes(&record, &record.curves[1].clone())
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
