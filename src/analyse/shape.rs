//! The words for the shape of a curve.

/// What a curve looks like as its table grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// See [`Shape::definition`].
    Flat,
    /// See [`Shape::definition`].
    Gradual,
    /// See [`Shape::definition`].
    Bend,
    /// See [`Shape::definition`].
    Step,
    /// See [`Shape::definition`].
    Sawtooth,
    /// See [`Shape::definition`].
    Spike,
    /// See [`Shape::definition`].
    Recovered,
    /// See [`Shape::definition`].
    TwoLevels,
    /// See [`Shape::definition`].
    #[default]
    TooShort,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 9] = [
        Self::Flat,
        Self::Gradual,
        Self::Bend,
        Self::Step,
        Self::Sawtooth,
        Self::Spike,
        Self::Recovered,
        Self::TwoLevels,
        Self::TooShort,
    ];

    /// The word, for people and for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Gradual => "gradual",
            Self::Bend => "bend",
            Self::Step => "step",
            Self::Sawtooth => "sawtooth",
            Self::Spike => "spike",
            Self::Recovered => "recovered",
            Self::TwoLevels => "two levels",
            Self::TooShort => "too short to judge",
        }
    }

    /// What the word means, in one sentence.
    pub fn definition(self) -> &'static str {
        match self {
            Self::Flat => {
                "a million rows cost the same at every table size, within 1.15 times and the scatter of the batches"
            }
            Self::Gradual => "the cost changes from the first batches on, and there is no level before",
            Self::Bend => "the cost is level up to some table size and grows from there on",
            Self::Step => "the cost goes from one level to another within a few batches and stays there",
            Self::Sawtooth => {
                "the cost goes up and comes back to its level more than once, or came back and has gone up again"
            }
            Self::Spike => {
                "single batches cost at least 1.5 times their neighbours on both sides, and the rest is flat"
            }
            Self::Recovered => "the cost went up for two batches or more and came back to its level",
            Self::TwoLevels => {
                "the batches cost one of two amounts, 1.3 times apart or more, and come to each again and again"
            }
            Self::TooShort => {
                "there are fewer than 12 batches to judge by, and no lasting fall to a third of the speed among them"
            }
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
