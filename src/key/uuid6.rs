//! `uuid6`: the time of version 1 with its high bits first.

use std::sync::Arc;

use uuid::{Builder, Uuid};

use super::gregorian::Gregorian;
use super::{Family, FamilyEntry, KeyError, UuidSource};

/// The registry line of `uuid6`.
pub const ENTRY: FamilyEntry = FamilyEntry {
    family: Family::Uuid6,
    name: "uuid6",
    summary: "time-ordered: the fields of uuid1 with the high bits of the time first",
    build: Some(build),
};

/// UUIDs of version 6.
#[derive(Debug, Clone, Copy)]
pub struct Uuid6(Gregorian);

impl Uuid6 {
    /// The UUIDs of `seed`, under rows that come at `rows_per_second`.
    ///
    /// # Errors
    /// A rate of 0, or one that overflows the clock sequence of a tick of 100 ns.
    pub fn new(seed: u64, rows_per_second: u64) -> Result<Self, KeyError> {
        Gregorian::new(Family::Uuid6, seed, rows_per_second).map(Self)
    }
}

impl UuidSource for Uuid6 {
    #[inline]
    fn uuid(&self, row: u64) -> Uuid {
        let (ticks, sequence) = self.0.at(row);
        Builder::from_sorted_gregorian_timestamp(ticks, sequence, &self.0.node()).into_uuid()
    }

    fn rows_max(&self) -> u64 {
        self.0.rows_max()
    }
}

fn build(seed: u64, rows_per_second: u64) -> Result<Arc<dyn UuidSource>, KeyError> {
    Ok(Arc::new(Uuid6::new(seed, rows_per_second)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::{Variant, Version};

    use super::super::hex;
    use super::*;

    proptest! {
        #[test]
        fn keys_ascend_as_bytes_and_as_text(
            seed: u64,
            row in 0_u64..1 << 40,
            distance in 1_u64..1_000,
            // Below that the 60 bits of the time end before row 2^40.
            rate in 100_u64..100_000_000_000,
        ) {
            let source = Uuid6::new(seed, rate).unwrap();
            let (low, high) = (source.uuid(row), source.uuid(row + distance));
            prop_assert!(row + distance < source.rows_max());
            prop_assert!(low.as_bytes() < high.as_bytes());
            prop_assert!(hex::simple(low.as_bytes()) < hex::simple(high.as_bytes()));
            prop_assert!(hex::hyphenated(low.as_bytes()) < hex::hyphenated(high.as_bytes()));
            prop_assert_eq!(low.get_version(), Some(Version::SortMac));
            prop_assert_eq!(low.get_variant(), Variant::RFC4122);
        }
    }

    #[test]
    fn a_long_sequence_ascends_at_every_step() {
        for rate in [1, 60_000, 10_000_000, 10_000_001, 50_000_000_000] {
            let source = Uuid6::new(5, rate).unwrap();
            let start = 34_000_000_000_u64;
            assert!(
                (start..start + 50_000).map(|row| source.uuid(row)).is_sorted_by(|a, b| a < b),
                "not ascending at {rate} rows/s"
            );
        }
    }
}
