//! The batches of runs for machines: CSV and JSON, every batch, plain numbers in fixed units.

use super::columns::for_machines;
use super::input::Input;
use super::show::rows;
use crate::record::Sample;

/// A line for each batch, with a header. A figure that is not known is empty.
pub fn csv(input: &Input, wide: bool) -> String {
    let columns = for_machines(wide);
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = writer.write_record(columns.iter().map(|column| column.name()));
    for curve in &input.curves {
        for row in rows(curve, &|sample: &Sample| input.moved_of(curve, sample)) {
            let _ = writer.write_record(columns.iter().map(|column| column.get(&row).csv()));
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// An array of objects, one for each batch, a line each. A figure that is not known is null.
pub fn json(input: &Input, wide: bool) -> String {
    let columns = for_machines(wide);
    let mut lines = Vec::new();
    for curve in &input.curves {
        for row in rows(curve, &|sample: &Sample| input.moved_of(curve, sample)) {
            let fields: Vec<String> = columns
                .iter()
                .map(|column| format!("{}:{}", serde_json::Value::from(column.name()), column.get(&row).json()))
                .collect();
            lines.push(format!("{{{}}}", fields.join(",")));
        }
    }
    format!("[\n{}\n]\n", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};

    fn input() -> Input {
        let sample = |batch: u64, seconds| Sample {
            curve: "c, 1".into(),
            batch,
            rows: 100,
            table_rows: batch * 100,
            seconds,
            p99_us: (batch == 2).then_some(1500),
            ..Sample::default()
        };
        let samples = vec![sample(1, 0.5), sample(2, 0.0)];
        Input { curves: group(&[RunSamples { run: "r".into(), samples }]).curves, ..Input::default() }
    }

    #[test]
    fn unknown_is_empty_in_csv_and_null_in_json() {
        assert_eq!(
            csv(&input(), false),
            "run,curve,batch,table_rows,rows,seconds,inserts_per_sec,mean_inserts_per_sec,slowdown,p99_us,reads_per_row,\
             written_bytes_per_row,notes\n\
             r,\"c, 1\",1,100,100,0.5,200,200,,,,,\n\
             r,\"c, 1\",2,200,100,0,,400,,1500,,,\n"
        );
        let parsed: serde_json::Value = serde_json::from_str(&json(&input(), true)).unwrap();
        assert_eq!(parsed.as_array().unwrap().len(), 2);
        assert_eq!(parsed[0]["curve"], "c, 1");
        assert_eq!(parsed[0]["inserts_per_sec"], 200.0);
        assert!(parsed[1]["inserts_per_sec"].is_null() && parsed[0]["server_cpu_seconds"].is_null());
        assert_eq!(parsed[1]["p99_us"], 1500);
        assert_eq!(json(&Input::default(), false), "[\n\n]\n");
    }
}
