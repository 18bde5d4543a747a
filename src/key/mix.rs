//! Seeded mixing: random-looking numbers and bijections that are pure functions of (seed, row index).
//!
//! Nothing here keeps state, so any row can be asked for in any order and on any thread.

/// The increment of splitmix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// The multipliers of splitmix64's finaliser (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
const MULTIPLIERS: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

/// The finaliser of splitmix64: a bijection of 64 bits in which every output bit depends on every input bit.
#[inline]
pub const fn finalise(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(MULTIPLIERS[0]);
    x = (x ^ (x >> 27)).wrapping_mul(MULTIPLIERS[1]);
    x ^ (x >> 31)
}

/// A stream of random-looking numbers, one for each index, independent of the streams with other labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of `label` under `seed`.
    pub fn new(seed: u64, label: &str) -> Self {
        // FNV-1a over the label; the finaliser on both sides keeps related seeds and labels apart.
        let label = label
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3));
        Self { key: finalise(finalise(seed ^ GOLDEN).wrapping_add(label)) }
    }

    /// 64 bits for `index`.
    #[inline]
    pub fn at(self, index: u64) -> u64 {
        finalise(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// A number from 0 to `last` for `index`, evenly spread (the bias is below 2^-32 for ranges of 32 bits).
    #[inline]
    pub fn up_to(self, index: u64, last: u64) -> u64 {
        ((u128::from(self.at(index)) * (u128::from(last) + 1)) >> 64) as u64
    }

    /// A stream of its own for `index`: as many numbers as a long value needs.
    #[inline]
    pub fn fork(self, index: u64) -> Self {
        Self { key: self.at(index) }
    }
}

/// A seeded bijection of the numbers from 0 to `last`.
///
/// Multiplication by an odd number and xor with the own upper half are each a bijection of `bits` bits, and so is
/// their chain. A range that is no power of two is reached by walking the cycle: the next larger power of two is
/// permuted again until the result falls into the range, on average less than twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bijection {
    last: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
}

impl Bijection {
    /// The bijection of `0..=last` that `label` names under `seed`.
    pub fn new(seed: u64, label: &str, last: u64) -> Self {
        let bits = u64::BITS - last.leading_zeros();
        let stream = Stream::new(seed, label);
        Self {
            last,
            mask: if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) },
            // At least half of the bits, which makes the xor with the upper half its own inverse.
            shift: bits.div_ceil(2).max(1),
            keys: [stream.at(0), stream.at(1), stream.at(2)],
        }
    }

    /// Where `index` goes. An index beyond the range is taken modulo its size.
    #[inline]
    pub fn apply(&self, index: u64) -> u64 {
        let mut x = self.wrap(index);
        loop {
            x = self.permute(x);
            if x <= self.last {
                return x;
            }
        }
    }

    /// Where `value` came from: the inverse of [`Bijection::apply`]. A value beyond the range is taken modulo its size.
    pub fn invert(&self, value: u64) -> u64 {
        let mut x = self.wrap(value);
        loop {
            x = self.permute_back(x);
            if x <= self.last {
                return x;
            }
        }
    }

    /// The largest number of the range.
    pub fn last(&self) -> u64 {
        self.last
    }

    #[inline]
    fn wrap(&self, index: u64) -> u64 {
        if index <= self.last { index } else { index % (self.last + 1) }
    }

    #[inline]
    fn permute(&self, mut x: u64) -> u64 {
        x = (x ^ self.keys[0]) & self.mask;
        x = x.wrapping_mul(MULTIPLIERS[0]) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_add(self.keys[1]).wrapping_mul(MULTIPLIERS[1]) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_add(self.keys[2]).wrapping_mul(GOLDEN) & self.mask;
        x ^ (x >> self.shift)
    }

    fn permute_back(&self, mut x: u64) -> u64 {
        x ^= x >> self.shift;
        x = x.wrapping_mul(inverse(GOLDEN)).wrapping_sub(self.keys[2]) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(inverse(MULTIPLIERS[1])).wrapping_sub(self.keys[1]) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(inverse(MULTIPLIERS[0])) & self.mask;
        (x ^ self.keys[0]) & self.mask
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the correct bits, from 3.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut step = 0;
    while step < 5 {
        x = x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_inverse_of_an_odd_number() {
        for odd in [1, 3, GOLDEN, MULTIPLIERS[0], MULTIPLIERS[1], u64::MAX] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1, "{odd:#x}");
        }
    }

    #[test]
    fn small_ranges_are_hit_exactly_once() {
        for last in (0..300).chain([999, 1023, 4095, 65_535, 70_000]) {
            let bijection = Bijection::new(7, "small", last);
            let mut seen: Vec<u64> = (0..=last).map(|index| bijection.apply(index)).collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..=last), "0..={last} is not permuted");
        }
    }

    #[test]
    fn an_index_beyond_the_range_wraps() {
        let bijection = Bijection::new(7, "wrap", 999);
        assert_eq!(bijection.apply(1_005), bijection.apply(5));
        let whole = Bijection::new(7, "wrap", u64::MAX);
        assert_eq!(whole.invert(whole.apply(u64::MAX)), u64::MAX);
    }

    #[test]
    fn labels_and_seeds_make_streams_of_their_own() {
        let one = Stream::new(1, "a");
        assert_eq!(one, Stream::new(1, "a"));
        assert_ne!(one.at(0), Stream::new(1, "b").at(0));
        assert_ne!(one.at(0), Stream::new(2, "a").at(0));
        assert_ne!(one.fork(3).at(0), one.fork(4).at(0));
    }

    #[test]
    fn numbers_up_to_a_limit_are_spread_evenly() {
        let stream = Stream::new(42, "even");
        let mut counts = [0_u32; 7];
        for index in 0..70_000 {
            counts[stream.up_to(index, 6) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert_eq!(stream.up_to(9, 0), 0);
    }

    proptest! {
        #[test]
        fn inverting_gives_the_index_back(seed: u64, last: u64, index: u64) {
            let bijection = Bijection::new(seed, "any", last);
            let index = if last == u64::MAX { index } else { index % (last + 1) };
            let value = bijection.apply(index);
            prop_assert!(value <= last);
            prop_assert_eq!(bijection.invert(value), index);
        }
    }
}
