//! The plans of the four posts have the posts' numbers, and `--scale` runs them small.

use serde_json::{Value, json};

use super::tests::planned;

fn plan(name: &str, words: &[&str]) -> Value {
    let path = format!("{}/schemas/plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    planned(&[&["--plan", &path][..], words].concat()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn curves(plan: &Value) -> Vec<&Value> {
    plan["curves"].as_array().unwrap().iter().collect()
}

/// One figure of every curve, each different one once.
fn each(plan: &Value, pointer: &str) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for curve in curves(plan) {
        let value = curve.pointer(pointer).cloned().unwrap_or_default();
        if !out.contains(&value) {
            out.push(value);
        }
    }
    out
}

fn options(plan: &Value) -> Vec<String> {
    let pairs = plan["scratch"]["options"].as_array().unwrap().iter();
    pairs.map(|pair| format!("{}={}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap())).collect()
}

#[test]
fn the_pbxt_plans_load_300_batches_of_a_million_rows_one_by_one_over_8_connections() {
    for (name, key, flushes) in [
        ("pbxt-autoinc", "autoinc", vec![json!("2"), json!("0")]),
        ("pbxt-uuid", "uuid1:char32", vec![json!("2"), json!("1"), json!("0")]),
    ] {
        let plan = plan(name, &[]);
        let sizes = json!({ "rows": 300_000_000, "batch_rows": 1_000_000, "statement_rows": 1, "commit_rows": 1 });
        assert_eq!(each(&plan, "/sizes"), [sizes], "{name}");
        assert_eq!(each(&plan, "/cell/engine"), ["innodb", "pbxt"].map(Value::from));
        assert_eq!(each(&plan, "/cell/key"), [json!(key)]);
        assert_eq!(each(&plan, "/cell/flush"), flushes);
        assert_eq!(each(&plan, "/cell/connections"), [json!(8)]);
        assert_eq!(each(&plan, "/cell/cache_bytes"), [json!(20_u64 << 30)]);
        assert_eq!(plan["targets"][0]["label"], "scratch");
        assert_eq!((&plan["schema"]["path"], &plan["probe"]), (&json!(name), &Value::Null));
        let options = options(&plan);
        assert!(options.iter().all(|option| option.starts_with("loose_")), "{options:?}");
        for option in
            ["loose_pbxt_index_cache_size=8G", "loose_pbxt_checkpoint_frequency=64M", "loose_pbxt_sweeper_priority=2"]
        {
            assert!(options.iter().any(|known| known == option), "no {option}");
        }
    }
    // The list of engines is open, and what the engine file knows joins it.
    let other = plan("pbxt-uuid", &["--engine", "innodb,rocksdb", "--flush", "2"]);
    assert_eq!(each(&other, "/cell/engine"), ["innodb", "rocksdb"].map(Value::from));
}

#[test]
fn the_soliddb_plan_is_mysqlslap_s_load() {
    let plan = plan("soliddb-slap", &[]);
    let sizes = json!({ "rows": 100, "batch_rows": 100, "statement_rows": 1, "commit_rows": 1 });
    assert_eq!(each(&plan, "/sizes"), [sizes]);
    assert_eq!(each(&plan, "/cell/engine"), ["innodb", "soliddb"].map(Value::from));
    assert_eq!(plan["schema"]["path"], "slap");
    let text = plan["schema"]["text"].as_str().unwrap();
    assert_eq!((text.matches("intcol").count(), text.matches("charcol").count()), (2, 3));
    let probe = &plan["probe"];
    assert_eq!(probe["probes"], json!(["mixed", "insert"]));
    assert_eq!(probe["connections"], json!([1, 25, 50, 100, 200]));
    assert_eq!((&probe["iterations"], &probe["ops"]), (&json!(10), &json!([1000, 10_000])));
    // Every commit is synced: level 3 of solidDB.
    assert_eq!(each(&plan, "/cell/flush"), [json!("1")]);
    assert_eq!(curves(&plan)[1].pointer("/cell/engine_entry/flush/values/1"), Some(&json!("3")));
}

#[test]
fn the_oltp_plan_is_sysbench_s_on_two_servers() {
    let plan = plan("innodb-plugin-oltp", &[]);
    let labels: Vec<&Value> = plan["targets"].as_array().unwrap().iter().map(|target| &target["label"]).collect();
    assert_eq!(labels, ["scratch:mariadbd", "scratch:mysqld"]);
    assert_eq!(each(&plan, "/sizes/rows"), [json!(10_000_000)]);
    assert_eq!(
        (each(&plan, "/cell/cache_bytes"), options(&plan)),
        (vec![Value::Null], Vec::new()),
        "no special adjustments"
    );
    assert_eq!(plan["schema"]["path"], "sbtest");
    let probe = &plan["probe"];
    assert_eq!((&probe["probes"], &probe["connections"]), (&json!(["oltp"]), &json!([1, 8, 16])));
    assert_eq!((&probe["ops"], &probe["seconds"]), (&json!([500_000]), &json!(900.0)));
    assert_eq!((&probe["when"], &probe["iterations"]), (&json!({ "every": 10 }), &json!(1)));
}

#[test]
fn the_kvs_plan_reads_a_million_rows_of_105_million_over_100_connections_10_times() {
    let plan = plan("kvs-reads", &[]);
    assert_eq!(each(&plan, "/sizes/rows"), [json!(105_000_000)]);
    assert_eq!(plan["schema"]["path"], "pbxt-autoinc");
    assert_eq!(each(&plan, "/cell/engine"), ["innodb", "memory", "ndb"].map(Value::from));
    let settings = [json!([["query_cache_size", "as-is"]]), json!([["query_cache_size", "2G"]])];
    assert_eq!(each(&plan, "/cell/settings"), settings);
    assert!(curves(&plan)[0]["name"].as_str().unwrap().contains("query_cache_size=as-is"));
    let probe = &plan["probe"];
    assert_eq!((&probe["probes"], &probe["connections"]), (&json!(["select-pk", "handler-pk"]), &json!([100])));
    assert_eq!((&probe["iterations"], &probe["ops"]), (&json!(10), &json!([1_000_000])));
    assert_eq!((&probe["warmup"], &probe["fresh_keys"]), (&json!(true), &json!(false)));
    // The table is at its full size when they run.
    assert_eq!(probe["when"], json!({ "every": 105 }));
}

#[test]
fn scale_multiplies_rows_batch_rows_the_clock_of_uuids_and_operations_and_nothing_else() {
    for (name, rows, batch_rows, ops) in [
        ("pbxt-autoinc", 300_000, 1000, Value::Null),
        ("soliddb-slap", 1, 1, json!([1, 10])),
        ("innodb-plugin-oltp", 10_000, 1000, json!([500])),
        ("kvs-reads", 105_000, 1000, json!([1000])),
        // The defaults of SQLite are scaled as well.
        ("sqlite", 1000, 50, Value::Null),
    ] {
        let (whole, small) = (plan(name, &[]), plan(name, &["--scale", "0.001"]));
        assert_eq!(each(&small, "/sizes/rows"), [json!(rows)], "{name}");
        assert_eq!(each(&small, "/sizes/batch_rows"), [json!(batch_rows)], "{name}");
        assert_eq!(small["probe"]["ops"], ops, "{name}");
        assert_eq!((&whole["scale"], &small["scale"]), (&Value::Null, &json!(0.001)));
        assert_eq!(small["uuid_rate"].as_u64(), whole["uuid_rate"].as_u64().map(|rate| rate / 1000));
        assert_eq!(small["scale_uuid_rate"], true);
        // Everything else is as it was.
        let mut back = small.clone();
        back["scale"] = Value::Null;
        back["uuid_rate"] = whole["uuid_rate"].clone();
        back.as_object_mut().unwrap().remove("scale_uuid_rate");
        if !ops.is_null() {
            back["probe"]["ops"] = whole["probe"]["ops"].clone();
        }
        for (curve, before) in back["curves"].as_array_mut().unwrap().iter_mut().zip(curves(&whole)) {
            // A statement holds no more than a batch.
            assert!(curve["sizes"]["statement_rows"].as_u64() <= curve["sizes"]["batch_rows"].as_u64());
            curve["sizes"] = before["sizes"].clone();
        }
        assert_eq!(back, whole, "{name}");
    }
    let cached = plan("pbxt-autoinc", &["--scale", "0.001", "--scale-cache"]);
    assert_eq!(each(&cached, "/cell/cache_bytes"), [json!(21_474_836)]);
    assert_eq!(cached["scale_cache"], true);
    let at =
        ["--target", "sqlite", "--rows", "1M", "--batch-rows", "100k", "--probe", "select-pk", "--probe-at", "250k,1M"];
    let small = planned(&[&at[..], &["--scale", "0.01"]].concat()).unwrap();
    assert_eq!(small["probe"]["when"], json!({ "at": [2500, 10_000] }));
    assert_eq!(small["probe"]["ops"], json!([10]), "the default is scaled too");
}

#[test]
fn scale_that_makes_no_sense_is_refused_with_what_to_do() {
    let error = planned(&["--scale", "0.1", "--scale-cache"]).unwrap_err();
    assert!(error.contains("--scale-cache") && error.contains("--cache"), "{error}");
    let error = planned(&["--scale", "1e30"]).unwrap_err();
    assert!(error.contains("--scale") && error.contains("smaller factor"), "{error}");
}

#[test]
fn as_is_leaves_a_variable_alone() {
    let words = ["--target", "scratch", "--rows", "1M", "--vary", "query_cache_type=as-is,1"];
    let plan = planned(&[&words[..], &["--key", "autoinc"]].concat()).unwrap();
    let cells: Vec<crate::plan::Cell> =
        curves(&plan).iter().map(|curve| serde_json::from_value(curve["cell"].clone()).unwrap()).collect();
    assert_eq!(cells[0].variables(), []);
    assert_eq!(cells[1].variables(), [("query_cache_type".to_owned(), "1".to_owned())]);
    assert_eq!(cells[0].settings_label(), "query_cache_type=as-is");
}

#[test]
fn a_named_table_has_a_text_for_each_kind_of_database_and_its_own_key() {
    let words = ["--target", "sqlite", "--target", "scratch", "--rows", "1M", "--schema", "sbtest"];
    let plan = planned(&words).unwrap();
    let plan: crate::plan::Plan = serde_json::from_value(plan).unwrap();
    assert!(plan.schema_text(0).is_some_and(|text| text.contains("CREATE INDEX")));
    assert!(plan.schema_text(1).is_some_and(|text| text.contains("AUTO_INCREMENT")));
    let unable: Vec<Option<String>> = plan.curves.iter().map(|curve| curve.unable.clone()).collect();
    assert_eq!(unable.len(), 4);
    assert!(unable[0].is_none() && unable[2].is_none(), "{unable:?}");
    for why in [&unable[1], &unable[3]] {
        assert!(why.as_ref().is_some_and(|why| why.contains("sbtest") && why.contains("--key autoinc")), "{why:?}");
    }
    // A UUID that names no storage is stored as the post has it.
    let words = [
        "--target",
        "sqlite",
        "--target",
        "scratch",
        "--rows",
        "1M",
        "--schema",
        "pbxt-uuid",
        "--key",
        "autoinc,uuid4",
    ];
    let plan = planned(&words).unwrap();
    assert_eq!(each(&plan, "/cell/key"), [json!("autoinc"), json!("uuid4:char32")]);
    let plan: crate::plan::Plan = serde_json::from_value(plan).unwrap();
    assert!((0..2).all(|target| plan.schema_text(target).is_some_and(|text| text.contains("uid {key_type}"))));
    assert_eq!(plan.table_kind(), crate::rows::TableKind::Own);
    let unable: Vec<bool> = plan.curves.iter().map(|curve| curve.unable.is_some()).collect();
    assert_eq!(unable, [true, false, true, false]);
    assert!(
        plan.curves[0].unable.as_ref().is_some_and(|why| why.contains("a UUID key") && why.contains("--key uuid1"))
    );
    let error = planned(&["--schema", "./slap"]).unwrap_err();
    assert!(error.contains("./slap") && error.contains("slap, sbtest, pbxt-autoinc, pbxt-uuid"), "{error}");
}
