//! Work on ranges of rows, in parallel. rayon is known here and nowhere else.

use std::ops::Range;

use rayon::prelude::*;

/// Cuts a range of rows into ranges of `size` rows, the last one shorter where it does not divide.
///
/// A size of 0 counts as 1.
pub fn split_range(rows: Range<u64>, size: u64) -> Vec<Range<u64>> {
    let size = size.max(1);
    let mut ranges =
        Vec::with_capacity(usize::try_from(rows.end.saturating_sub(rows.start).div_ceil(size)).unwrap_or(0));
    let mut start = rows.start;
    while start < rows.end {
        let end = start.saturating_add(size).min(rows.end);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// What `f` makes of each range, in the order of the ranges, whatever the number of threads.
///
/// The work runs on the thread pool of the caller where it has installed one, else on rayon's own.
pub fn parallel_map<T: Send>(ranges: Vec<Range<u64>>, f: impl Fn(Range<u64>) -> T + Sync + Send) -> Vec<T> {
    ranges.into_par_iter().map(f).collect()
}

/// Sets the number of threads for the rest of the process: the cores that the system shows, or fewer where a control group
/// allows less CPU time than that. Gives the number.
///
/// Threads beyond the limit would use up its quota in a burst, and then everything stands still until the next period.
/// Once the pool is in use its size stays.
pub fn use_cores(limit_cores: Option<f64>) -> usize {
    let seen = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = within(seen, limit_cores);
    // The only error is that the pool is there already.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    rayon::current_num_threads()
}

fn within(seen: usize, limit_cores: Option<f64>) -> usize {
    let limit = limit_cores.filter(|cores| cores.is_finite() && *cores > 0.0).map(|cores| cores.ceil() as usize);
    limit.map_or(seen, |limit| seen.min(limit)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_core_is_one_thread() {
        assert_eq!(within(8, None), 8);
        assert_eq!(within(8, Some(2.5)), 3);
        assert_eq!(within(8, Some(0.2)), 1);
        assert_eq!(within(8, Some(64.0)), 8);
        assert_eq!(within(8, Some(f64::NAN)), 8);
        assert_eq!(within(0, Some(1.0)), 1);
    }

    #[test]
    fn ranges_are_cut_without_gaps() {
        assert_eq!(split_range(0..10, 4), [0..4, 4..8, 8..10]);
        assert_eq!(
            split_range(34_000_000_000..34_000_000_002, 1),
            [34_000_000_000..34_000_000_001, 34_000_000_001..34_000_000_002]
        );
        assert_eq!(split_range(5..5, 3), []);
        assert_eq!(split_range(0..2, 0), [0..1, 1..2]);
        assert_eq!(split_range(u64::MAX - 3..u64::MAX, 2), [u64::MAX - 3..u64::MAX - 1, u64::MAX - 1..u64::MAX]);
    }

    #[test]
    fn results_keep_the_order_of_the_ranges() {
        let starts = parallel_map(split_range(0..10_000, 7), |range| range.start);
        assert!(starts.iter().copied().eq((0..10_000).step_by(7)));
    }
}
