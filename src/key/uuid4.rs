//! `uuid4`: random, and unique by construction.

use std::sync::Arc;

use uuid::{Builder, Uuid};

use super::mix::{Bijection, Stream};
use super::{Family, FamilyEntry, KeyError, UuidSource};

/// The registry line of `uuid4`.
pub const ENTRY: FamilyEntry =
    FamilyEntry { family: Family::Uuid4, name: "uuid4", summary: "random", build: Some(build) };

/// Bits of the first eight bytes that are left beside the version.
const FIRST_HALF_BITS: u32 = 60;

/// Random UUIDs.
///
/// The 60 free bits of the first half are a seeded bijection of the row index, so two rows differ there whatever the
/// luck (any 2^60 rows in sequence are distinct); the 62 free bits of the second half are an independent stream. A
/// true random generator would repeat itself with a chance of 10^-13 in 34 billion rows, and a load that fails after
/// a day for a key that cannot be told from a server's fault is not worth the purity.
#[derive(Debug, Clone, Copy)]
pub struct Uuid4 {
    first_half: Bijection,
    second_half: Stream,
}

impl Uuid4 {
    /// The UUIDs of `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            first_half: Bijection::new(seed, "uuid4 first half", (1 << FIRST_HALF_BITS) - 1),
            second_half: Stream::new(seed, "uuid4 second half"),
        }
    }

    /// The row that has this UUID, modulo 2^60.
    pub fn row_of(&self, uuid: &Uuid) -> u64 {
        let high = uuid.as_u64_pair().0;
        self.first_half.invert((high >> 16 << 12) | (high & 0x0FFF))
    }
}

impl UuidSource for Uuid4 {
    #[inline]
    fn uuid(&self, row: u64) -> Uuid {
        let random = self.first_half.apply(row);
        // 48 bits, four bits for the version, 12 bits.
        let high = (random >> 12 << 16) | (random & 0x0FFF);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&self.second_half.at(row).to_be_bytes());
        Builder::from_random_bytes(bytes).into_uuid()
    }

    fn rows_max(&self) -> u64 {
        1 << FIRST_HALF_BITS
    }
}

fn build(seed: u64, _rows_per_second: u64) -> Result<Arc<dyn UuidSource>, KeyError> {
    Ok(Arc::new(Uuid4::new(seed)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use uuid::{Variant, Version};

    use super::*;

    proptest! {
        /// A function with an inverse is injective: this is the uniqueness over any 2^60, hence any 2^40, rows.
        #[test]
        fn the_row_can_be_read_from_the_key(seed: u64, row in 0_u64..1 << FIRST_HALF_BITS) {
            let source = Uuid4::new(seed);
            let uuid = source.uuid(row);
            prop_assert_eq!(source.row_of(&uuid), row);
            prop_assert_eq!(uuid.get_version(), Some(Version::Random));
            prop_assert_eq!(uuid.get_variant(), Variant::RFC4122);
        }
    }

    #[test]
    fn half_a_million_rows_around_34_billion_are_unique() {
        let source = Uuid4::new(1);
        let rows = 34_000_000_000 - 250_000..34_000_000_000 + 250_000_u64;
        let firsts: HashSet<u64> = rows.clone().map(|row| source.uuid(row).as_u64_pair().0).collect();
        let seconds: HashSet<u64> = rows.map(|row| source.uuid(row).as_u64_pair().1).collect();
        assert_eq!(firsts.len(), 500_000);
        // 2^62 values leave a chance of 3 in 100 million for one repetition.
        assert_eq!(seconds.len(), 500_000);
    }

    #[test]
    fn every_free_bit_is_balanced() {
        const ROWS: u64 = 100_000;
        for seed in [0, 1, u64::MAX] {
            let source = Uuid4::new(seed);
            let mut ones = [0_u32; 128];
            for row in 0..ROWS {
                let bits = source.uuid(row).as_u128();
                for (bit, count) in ones.iter_mut().enumerate() {
                    *count += u32::from(bits >> bit & 1 == 1);
                }
            }
            let fixed: Vec<usize> = vec![62, 63, 76, 77, 78, 79];
            for (bit, count) in ones.iter().enumerate().filter(|(bit, _)| !fixed.contains(bit)) {
                // Five standard deviations (158 each) around one half.
                assert!((49_200..50_800).contains(count), "seed {seed}, bit {bit}: {count} ones of {ROWS}");
            }
        }
    }

    #[test]
    fn neighbouring_bits_and_rows_flip_half_of_each_other() {
        // Rows that differ in one bit of their index have keys that differ in half of the bits of each half.
        let source = Uuid4::new(3);
        for bit in 0..40 {
            let (mut first, mut second) = (0_u32, 0_u32);
            for row in 0..1_000_u64 {
                let (a, b) = (source.uuid(row).as_u64_pair(), source.uuid(row ^ (1 << bit)).as_u64_pair());
                first += (a.0 ^ b.0).count_ones();
                second += (a.1 ^ b.1).count_ones();
            }
            assert!((29_000..31_000).contains(&first), "bit {bit}: first half flips {first} of 60,000");
            assert!((30_000..32_000).contains(&second), "bit {bit}: second half flips {second} of 62,000");
        }
    }

    #[test]
    fn the_order_of_keys_says_nothing_of_the_order_of_rows() {
        const ROWS: u64 = 200_000;
        let source = Uuid4::new(9);
        let keys: Vec<f64> = (0..ROWS).map(|row| source.uuid(row).as_u64_pair().0 as f64 / 2_f64.powi(64)).collect();
        let ascents = keys.windows(2).filter(|pair| pair[1] > pair[0]).count();
        assert!((99_000..101_000).contains(&ascents), "{ascents} ascents");
        let correlate = |lag: usize| {
            let products = keys.iter().zip(&keys[lag..]).map(|(a, b)| (a - 0.5) * (b - 0.5));
            products.sum::<f64>() / (keys.len() - lag) as f64 * 12.0
        };
        for lag in [1, 2, 3, 1_000] {
            assert!(correlate(lag).abs() < 0.012, "lag {lag}: {}", correlate(lag));
        }
        let trend: f64 = keys.iter().enumerate().map(|(row, key)| (row as f64 / ROWS as f64 - 0.5) * (key - 0.5)).sum();
        assert!((trend / ROWS as f64 * 12.0).abs() < 0.012, "rows and keys correlate");
    }
}
