//! Levels: a series cut into the pieces that a few constants describe best.

/// Cuts `values` into segments of at least `shortest` values so that the sum of the absolute deviations from each segment's
/// median, plus `penalty` for each segment, is least. Gives the first index of each segment; nothing of nothing.
///
/// This is the L1 Potts functional, minimised exactly. The best constant of a segment is a median and so one of the values, which
/// turns the search into a shortest path through (position, level): with n values it takes n x n x `shortest` steps. Of equally
/// good cuts the one with the later first change is taken, so that the same series always has the same answer. A series shorter
/// than `shortest` is one segment.
///
/// Sources: Friedrich, Kempe, Liebscher and Winkler, "Complexity penalized M-estimation: fast computation", JCGS 17 (2008);
/// Storath, Weinmann and Unser, "Jump-penalized least absolute values estimation of scalar or circle-valued signals",
/// Information and Inference 6 (2017).
pub fn segments(values: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let count = values.len();
    let shortest = shortest.max(1);
    if count == 0 {
        return Vec::new();
    }
    if count < 2 * shortest {
        return vec![0];
    }
    let mut levels = values.to_vec();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let width = levels.len();
    // `costs[age][level]`: the least cost of the values so far when the current segment has this level and `age + 1` values (the
    // last age: or more), and `begins[age][level]`: where that segment began.
    let mut costs = vec![vec![f64::INFINITY; width]; shortest];
    let mut begins = vec![vec![0_u32; width]; shortest];
    // `closed[i]`: the least cost of values[..i] with whole segments only; `began[i]`: where the last of them begins.
    let mut closed = vec![f64::INFINITY; count + 1];
    let mut began = vec![0_u32; count + 1];
    closed[0] = 0.0;
    let (mut oldest, mut begun_oldest) = (vec![f64::INFINITY; width], vec![0_u32; width]);
    for (index, &value) in values.iter().enumerate() {
        // Every age becomes the next one, and the oldest takes in what grows old.
        costs.rotate_right(1);
        begins.rotate_right(1);
        std::mem::swap(&mut costs[0], &mut oldest);
        std::mem::swap(&mut begins[0], &mut begun_oldest);
        costs[0].fill(closed[index] + penalty);
        begins[0].fill(index as u32);
        let last = shortest - 1;
        let old = oldest.iter().zip(&begun_oldest);
        for ((cost, start), (&old_cost, &old_start)) in costs[last].iter_mut().zip(&mut begins[last]).zip(old) {
            *start = if old_cost <= *cost { old_start } else { *start };
            *cost = cost.min(old_cost);
        }
        for of_age in &mut costs {
            for (cost, level) in of_age.iter_mut().zip(&levels) {
                *cost += (value - level).abs();
            }
        }
        for (&cost, &start) in costs[last].iter().zip(&begins[last]) {
            if cost < closed[index + 1] {
                closed[index + 1] = cost;
                began[index + 1] = start;
            }
        }
    }
    let mut starts = Vec::new();
    let mut end = count;
    while end > 0 {
        end = began[end] as usize;
        starts.push(end);
    }
    starts.reverse();
    starts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::median;
    use super::*;

    fn cost(values: &[f64]) -> f64 {
        let middle = median(values).unwrap();
        values.iter().map(|value| (value - middle).abs()).sum()
    }

    fn total(values: &[f64], starts: &[usize], penalty: f64) -> f64 {
        let ends = starts.iter().skip(1).copied().chain([values.len()]);
        starts.iter().zip(ends).map(|(&from, to)| cost(&values[from..to]) + penalty).sum()
    }

    /// As the textbook has it: the best cut of every prefix, each segment's cost worked out anew.
    fn textbook(values: &[f64], penalty: f64, shortest: usize) -> f64 {
        let mut best = vec![f64::INFINITY; values.len() + 1];
        best[0] = 0.0;
        for end in 1..=values.len() {
            for start in 0..end {
                if end - start >= shortest || (start == 0 && end == values.len()) {
                    best[end] = best[end].min(best[start] + penalty + cost(&values[start..end]));
                }
            }
        }
        best[values.len()]
    }

    proptest! {
        #[test]
        fn it_is_as_good_as_the_textbook(
            values in prop::collection::vec(-3.0..3.0_f64, 1..40),
            penalty in 0.01..4.0_f64,
            shortest in 1_usize..4,
        ) {
            let starts = segments(&values, penalty, shortest);
            let best = textbook(&values, penalty, shortest);
            prop_assert!((total(&values, &starts, penalty) - best).abs() < 1e-9);
            let ends = starts.iter().skip(1).copied().chain([values.len()]);
            prop_assert!(starts.len() == 1 || starts.iter().zip(ends).all(|(&from, to)| to - from >= shortest));
        }

        #[test]
        fn ties_and_repeated_values_do_not_matter(
            values in prop::collection::vec(0_u8..4, 1..30),
            penalty in 0.1..3.0_f64,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let starts = segments(&values, penalty, 3);
            prop_assert!((total(&values, &starts, penalty) - textbook(&values, penalty, 3)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_step_is_cut_where_it_is_and_a_wild_value_is_not() {
        let mut values = [vec![0.0; 10], vec![1.0; 10]].concat();
        assert_eq!(segments(&values, 0.5, 3), [0, 10]);
        values[4] = 9.0;
        assert_eq!(segments(&values, 0.5, 3), [0, 10]);
        assert_eq!(segments(&values, 100.0, 3), [0]);
        assert_eq!(segments(&[], 1.0, 3), [0_usize; 0]);
        assert_eq!(segments(&[1.0, 5.0], 0.1, 3), [0]);
    }
}
