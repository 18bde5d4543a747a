//! One part of a plan, for a matrix that is spread over machines.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::matrix::Resolved;
use super::{CurvePlan, Secret};
use crate::cli::ShardWord;
use crate::error::Error;

/// Which part of a plan this is. The curves keep the numbers and names that they have in the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Number of the part, from 1.
    pub number: u32,
    /// How many parts there are.
    pub parts: u32,
    /// Cells of the whole plan.
    pub plan_cells: usize,
    /// Curves of the whole plan.
    pub plan_curves: usize,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.parts)
    }
}

/// The part that was asked for: its number and how many there are.
///
/// A Slurm array `--array=MIN-MAX:STEP` counts its tasks in steps; `variable` reads the environment. `remembered` is the part
/// that the run's directory holds already: when only some tasks of an array are submitted again, Slurm counts those alone.
///
/// # Errors
/// A variable of the array job is missing or makes no sense, or the array may be a part of an earlier one.
pub fn asked(
    word: ShardWord,
    remembered: Option<(u32, u32)>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(u32, u32), Error> {
    let array = match word {
        ShardWord::Part { number, parts } => return Ok((number, parts)),
        ShardWord::Slurm => slurm(variable)?,
    };
    if let Some((number, parts)) = remembered.filter(|&(_, parts)| array.tasks < u64::from(parts)) {
        return Ok((number, parts));
    }
    if let Some(error) = array.doubt() {
        return Err(error);
    }
    match (u32::try_from(array.number), u32::try_from(array.tasks)) {
        (Ok(number), Ok(parts)) => Ok((number, parts)),
        _ => Err(Error::usage(SLURM, format!("{} tasks are too many", array.tasks), "submit a smaller array")),
    }
}

const SLURM: &str = "--shard slurm";

/// A task of an array job.
struct Task {
    /// Its number in the array, from 1.
    number: u64,
    /// Tasks of the array.
    tasks: u64,
    /// The id that it was given.
    id: u64,
    /// The least id of the array.
    least: u64,
    /// From one id to the next.
    step: u64,
}

impl Task {
    /// Why its part cannot be known.
    fn doubt(&self) -> Option<Error> {
        let Self { number, tasks, id, least, step } = self;
        if !(1..=*tasks).contains(number) {
            return Some(Error::usage(
                SLURM,
                format!("task {number} of an array of {tasks} tasks: the array has gaps"),
                "submit it with --array=1-N, or name the part with --shard I/N",
            ));
        }
        // `--array=3` or `--array=3,4` after a first `--array=1-N`. With steps an array of its own may begin anywhere.
        (*least > 1 && *step == 1).then(|| {
            Error::usage(
                SLURM,
                format!(
                    "task {id} of an array of {tasks} that begins at {least}: tasks of a larger array submitted again \
                     would load other parts than at first"
                ),
                format!(
                    "name the part with --shard {id}/N, N being the number of tasks of the first submission, or give \
                     --continue with the --out of the first, which remembers it"
                ),
            )
        })
    }
}

fn slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Task, Error> {
    let flag = SLURM;
    let number = |name: &str| match variable(name).filter(|text| !text.is_empty()) {
        Some(text) => text.trim().parse::<u64>().map(Some).map_err(|_| {
            Error::usage(flag, format!("{name} is {text:?}, not a number"), "leave the variable to Slurm")
        }),
        None => Ok(None),
    };
    let needed = |name: &str| {
        number(name)?.ok_or_else(|| {
            Error::usage(
                flag,
                format!("{name} is not set: this is no task of a Slurm array job"),
                "submit it with sbatch --array=1-N, or name the part with --shard I/N",
            )
        })
    };
    let (id, least) = (needed("SLURM_ARRAY_TASK_ID")?, needed("SLURM_ARRAY_TASK_MIN")?);
    let tasks = needed("SLURM_ARRAY_TASK_COUNT")?;
    let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
    let from_least = id.checked_sub(least).filter(|distance| distance.is_multiple_of(step));
    let Some(from_least) = from_least else {
        return Err(Error::usage(
            flag,
            format!("SLURM_ARRAY_TASK_ID {id} is not SLURM_ARRAY_TASK_MIN {least} and whole steps of {step}"),
            "submit it with --array=1-N, or name the part with --shard I/N",
        ));
    };
    Ok(Task { number: from_least / step + 1, tasks, id, least, step })
}

/// Leaves one part of a plan: its curves, and the targets that they need.
///
/// Whole cells are dealt out, so that the repeats of a cell are compared on one machine: forth and back (1 2 3 3 2 1 ...),
/// because neighbours in a matrix differ by its innermost dimension, and one part must not get all random keys. Cells that
/// no machine can run are listed by the first part.
pub fn cut(resolved: &mut Resolved, number: u32, parts: u32) {
    let plan = &mut resolved.plan;
    let cells = plan.curves.iter().map(CurvePlan::cell_name).collect::<BTreeSet<_>>().len();
    plan.shard = Some(Shard { number, parts, plan_cells: cells, plan_curves: plan.curves.len() });
    let mut parts_of: BTreeMap<String, u32> = BTreeMap::new();
    let mut dealt: u64 = 0;
    for curve in &plan.curves {
        parts_of.entry(curve.cell_name().to_owned()).or_insert_with(|| {
            if curve.unable.is_some() {
                return 1;
            }
            dealt += 1;
            part_of(dealt - 1, parts)
        });
    }
    plan.curves.retain(|curve| parts_of.get(curve.cell_name()) == Some(&number));
    // A server of another part need not be reachable from here.
    let used: BTreeSet<usize> = plan.curves.iter().map(|curve| curve.cell.target).collect();
    for curve in &mut plan.curves {
        curve.cell.target = used.range(..curve.cell.target).count();
    }
    plan.targets = used.iter().map(|&index| plan.targets[index].clone()).collect();
    let secret = |&index: &usize| resolved.secrets.get(index).cloned().unwrap_or_default();
    resolved.secrets = used.iter().map(secret).collect::<Vec<Secret>>();
}

/// The part, from 1, of the cell at `index`.
fn part_of(index: u64, parts: u32) -> u32 {
    let parts = u64::from(parts.max(1));
    let place = index % parts;
    let forth = (index / parts).is_multiple_of(2);
    // Fits: it is at most `parts`.
    (if forth { place + 1 } else { parts - place }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::engine::EngineTable;
    use crate::plan::resolve;
    use clap::Parser;
    use proptest::prelude::*;

    fn whole(words: &[&str]) -> Resolved {
        let cli = Cli::try_parse_from(["rowcliff", "run"].iter().chain(words)).unwrap();
        let Command::Run(args) = cli.command else { panic!() };
        resolve(&args, &EngineTable::built_in()).unwrap()
    }

    fn environment<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    const MATRIX: &[&str] = &[
        "--target",
        "sqlite",
        "--target",
        "scratch",
        "--engine",
        "innodb,archive,myisam",
        "--key",
        "autoinc,uuid4",
        "--flush",
        "0,1",
        "--repeat",
        "3",
        "--rows",
        "1M",
    ];

    #[test]
    fn every_curve_is_in_one_part_with_its_number_and_all_repeats_of_its_cell() {
        let all = whole(MATRIX);
        for parts in [1, 2, 3, 4, 7, 50] {
            let mut seen = BTreeMap::new();
            for number in 1..=parts {
                let mut resolved = whole(MATRIX);
                cut(&mut resolved, number, parts);
                let plan = &resolved.plan;
                assert_eq!(resolved.secrets.len(), plan.targets.len());
                let mut cells: BTreeMap<&str, u32> = BTreeMap::new();
                for curve in &plan.curves {
                    *cells.entry(curve.cell_name()).or_default() += 1;
                    assert_eq!(plan.targets[curve.cell.target].label, curve.cell.target_label);
                    assert!(seen.insert(curve.number, curve.name.clone()).is_none());
                }
                assert!(cells.values().all(|&repeats| repeats == 3), "{cells:?}");
            }
            let expected: BTreeMap<usize, String> =
                all.plan.curves.iter().map(|curve| (curve.number, curve.name.clone())).collect();
            assert_eq!(seen, expected, "{parts} parts");
        }
    }

    #[test]
    fn a_part_needs_no_target_of_another_one() {
        let mut resolved = whole(&["--target", "sqlite", "--target", "scratch", "--rows", "1M", "--key", "autoinc"]);
        cut(&mut resolved, 2, 2);
        assert_eq!(resolved.plan.targets.len(), 1);
        assert_eq!(resolved.plan.targets[0].label, "scratch");
        assert_eq!(resolved.plan.curves[0].cell.target, 0);
        assert_eq!(resolved.plan.curves[0].number, 2);
    }

    #[test]
    fn cells_that_cannot_run_are_listed_by_the_first_part() {
        let words = ["--key", "autoinc", "--connections", "8,1"];
        let numbers = |number| {
            let mut resolved = whole(&words);
            cut(&mut resolved, number, 2);
            resolved.plan.curves.iter().map(|curve| curve.number).collect::<Vec<_>>()
        };
        assert_eq!((numbers(1), numbers(2)), (vec![1, 2], vec![]));
    }

    #[test]
    fn two_parts_of_two_keys_share_the_random_ones() {
        let keys_of = |number| {
            let mut resolved = whole(&["--target", "scratch", "--engine", "innodb,myisam", "--rows", "1M"]);
            cut(&mut resolved, number, 2);
            resolved.plan.curves.iter().map(|curve| curve.cell.key.to_string()).collect::<BTreeSet<_>>()
        };
        assert_eq!(keys_of(1), keys_of(2));
    }

    #[test]
    fn slurm_tasks_are_counted_from_the_least_in_steps() {
        let task = |id, least, count, step| {
            asked(
                ShardWord::Slurm,
                None,
                environment(&[
                    ("SLURM_ARRAY_TASK_ID", id),
                    ("SLURM_ARRAY_TASK_MIN", least),
                    ("SLURM_ARRAY_TASK_COUNT", count),
                    ("SLURM_ARRAY_TASK_STEP", step),
                ]),
            )
        };
        assert_eq!(task("1", "1", "4", "1").unwrap(), (1, 4));
        assert_eq!(task("4", "1", "4", "").unwrap(), (4, 4));
        assert_eq!(task("0", "0", "4", "1").unwrap(), (1, 4));
        assert_eq!(task("14", "10", "3", "2").unwrap(), (3, 3));
        for (id, least, count, step, expected) in [
            ("7", "1", "3", "1", "gaps"),
            ("3", "2", "3", "2", "whole steps"),
            ("1", "2", "3", "1", "whole steps"),
            ("x", "1", "3", "1", "SLURM_ARRAY_TASK_ID"),
            ("1", "1", "0", "1", "gaps"),
        ] {
            let error = task(id, least, count, step).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn tasks_that_are_submitted_again_keep_their_part_or_are_refused() {
        let task = |id: &str, least: &str, count: &str, remembered| {
            let pairs =
                [("SLURM_ARRAY_TASK_ID", id), ("SLURM_ARRAY_TASK_MIN", least), ("SLURM_ARRAY_TASK_COUNT", count)];
            asked(ShardWord::Slurm, remembered, environment(&pairs))
        };
        // --array=3, then --array=3,4 and --array=1,4, each after --array=1-4.
        assert_eq!(task("3", "3", "1", Some((3, 4))).unwrap(), (3, 4));
        assert_eq!(task("4", "3", "2", Some((4, 4))).unwrap(), (4, 4));
        assert_eq!(task("4", "1", "2", Some((4, 4))).unwrap(), (4, 4));
        for (id, least, count) in [("3", "3", "1"), ("4", "3", "2"), ("10", "10", "3")] {
            let error = task(id, least, count, None).unwrap_err().to_string();
            assert!(error.contains(&format!("--shard {id}/N")) && error.contains("first submission"), "{error}");
        }
        // Of an array as large as before or larger the directory decides nothing.
        assert_eq!(task("3", "1", "4", Some((2, 4))).unwrap(), (3, 4));
        assert_eq!(task("3", "1", "8", Some((3, 4))).unwrap(), (3, 8));
        assert_eq!(task("1", "1", "1", None).unwrap(), (1, 1));
        assert_eq!(task("0", "0", "1", None).unwrap(), (1, 1));
    }

    #[test]
    fn the_missing_variable_is_named() {
        let all = ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"];
        for missing in all {
            let pairs: Vec<_> = all.into_iter().filter(|name| *name != missing).map(|name| (name, "1")).collect();
            let error = asked(ShardWord::Slurm, None, environment(&pairs)).unwrap_err().to_string();
            assert!(error.contains(&format!("{missing} is not set")), "{error}");
        }
        assert_eq!(asked(ShardWord::Part { number: 2, parts: 3 }, None, environment(&[])).unwrap(), (2, 3));
    }

    proptest! {
        #[test]
        fn parts_differ_by_one_cell_at_most(cells in 0_u64..200, parts in 1_u32..40) {
            let mut counts = vec![0_u64; parts as usize];
            for index in 0..cells {
                counts[part_of(index, parts) as usize - 1] += 1;
            }
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{counts:?}");
        }
    }
}
