//! Sentences that say the same of other things and in other numbers, and the sums of these numbers.

use report::output::thousands;

/// What is counted in a sentence: in the plural unless it is one.
const NOUNS: [&str; 3] = ["claim", "node", "pod"];
/// Verbs behind these nouns, of one and of several.
const VERBS: [(&str, &str); 3] = [("is", "are"), ("has", "have"), ("fits", "fit")];
/// Words between a number and what it counts: `1 new node`.
const NOUN_WITHIN: usize = 2;
/// Digits behind the point of an amount as it is summed up.
const DIGITS: u32 = 9;

/// A sentence, word by word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    words: Vec<Word>,
    /// What its amounts and what they count are is left out: sentences that are alike have the same.
    pattern: String,
    /// In the order of the words.
    amounts: Vec<Amount>,
}

/// A part of a sentence between two spaces, without the comma or the like behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Plain(String),
    /// One that differs between things of a kind, as far as digits tell.
    Name,
    /// The amount of this place, and what stands behind it.
    Amount(usize, String),
    /// What the amount of a place counts, in the singular, and what stands behind it.
    Noun(&'static str, usize, String),
    /// The verb of what the amount of a place counts, as one of [`VERBS`] in the singular.
    Verb(&'static str, usize),
}

/// A number of things, or of dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    /// In units of the last of [`DIGITS`].
    parts: u128,
    is_dollars: bool,
    /// How many digits behind the point are shown.
    digits: u32,
}

impl Amount {
    /// Reads `20`, `2,000` or `$1.2240`.
    fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix('$');
        let is_dollars = number.is_some();
        let number = number.unwrap_or(text).replace(',', "");
        let (whole, rest) = number.split_once('.').unwrap_or((&number, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let digits = u32::try_from(rest.len()).ok().filter(|digits| *digits <= DIGITS)?;
        if whole.is_empty() || !is_number(whole) || !is_number(rest) {
            return None;
        }
        let written: u128 = format!("{whole}{rest}").parse().ok()?;
        let parts = written.checked_mul(10_u128.pow(DIGITS - digits))?;
        Some(Self { parts, is_dollars, digits })
    }

    fn is_one(self) -> bool {
        self.parts == 10_u128.pow(DIGITS)
    }

    fn plus(self, other: Self) -> Self {
        let parts = self.parts.saturating_add(other.parts);
        Self { parts, digits: self.digits.max(other.digits), ..self }
    }

    fn show(self) -> String {
        let unit = 10_u128.pow(DIGITS);
        let (whole, rest) = (thousands(self.parts / unit), self.parts % unit);
        let sign = if self.is_dollars { "$" } else { "" };
        if self.digits == 0 {
            return format!("{sign}{whole}");
        }
        let rest = rest / 10_u128.pow(DIGITS - self.digits);
        let width = usize::try_from(self.digits).unwrap_or_default();
        format!("{sign}{whole}.{rest:0width$}")
    }
}

impl Sentence {
    /// Reads `text`.
    pub(super) fn of(text: &str) -> Self {
        let (mut words, mut amounts) = (Vec::new(), Vec::new());
        let mut counted: Option<(usize, usize)> = None;
        for (at, word) in text.split(' ').enumerate() {
            let core = word.trim_end_matches([',', ';', ':']);
            let behind = word.get(core.len()..).unwrap_or_default().to_owned();
            let noun =
                NOUNS.into_iter().find(|noun| core.strip_suffix('s').unwrap_or(core) == *noun);
            let near = counted.filter(|(_, number_at)| at - number_at <= NOUN_WITHIN);
            let verb = VERBS.into_iter().find(|(one, several)| word == *one || word == *several);
            let subject = match words.last() {
                Some(Word::Noun(_, place, behind)) if behind.is_empty() => Some(*place),
                _ => None,
            };
            if let Some(((verb, _), place)) = verb.zip(subject) {
                words.push(Word::Verb(verb, place));
                continue;
            }
            words.push(match (Amount::parse(core), noun.zip(near)) {
                (Some(amount), _) => {
                    let place = amounts.len();
                    amounts.push(amount);
                    counted = (!amount.is_dollars).then_some((place, at));
                    Word::Amount(place, behind)
                }
                (None, Some((noun, (place, _)))) => {
                    counted = None;
                    Word::Noun(noun, place, behind)
                }
                (None, None) if word.contains(|c: char| c.is_ascii_digit()) => Word::Name,
                (None, None) => Word::Plain(word.to_owned()),
            });
        }
        words.dedup_by(|word, before| *word == Word::Name && *before == Word::Name);
        let pattern = words.iter().map(|word| match word {
            Word::Plain(word) => word.clone(),
            Word::Name => "…".to_owned(),
            Word::Amount(_, behind) => format!("#{behind}"),
            Word::Noun(noun, _, behind) => format!("{noun}{behind}"),
            Word::Verb(verb, _) => (*verb).to_owned(),
        });
        let pattern = pattern.collect::<Vec<_>>().join(" ");
        Self { words, pattern, amounts }
    }

    /// What sentences that are alike have in common.
    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }

    pub(super) fn amounts(&self) -> &[Amount] {
        &self.amounts
    }

    /// The sentence with other `amounts`, of which there are as many.
    pub(super) fn with(&self, amounts: &[Amount]) -> String {
        let amount = |place: &usize| amounts.get(*place).or_else(|| self.amounts.get(*place));
        let is_one = |place: &usize| amount(place).is_some_and(|amount| amount.is_one());
        let word = |word: &Word| match word {
            Word::Plain(word) => word.clone(),
            Word::Name => "…".to_owned(),
            Word::Amount(place, behind) => {
                let amount = amount(place).map(|amount| amount.show()).unwrap_or_default();
                format!("{amount}{behind}")
            }
            Word::Noun(noun, place, behind) => {
                let ending = if is_one(place) { "" } else { "s" };
                format!("{noun}{ending}{behind}")
            }
            Word::Verb(verb, place) => {
                let several = VERBS.into_iter().find(|(one, _)| one == verb);
                let several = several.filter(|_| !is_one(place)).map(|(_, several)| several);
                several.unwrap_or(verb).to_owned()
            }
        };
        self.words.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// `sums` with `amounts` added, one by one.
pub(super) fn add(sums: &mut Vec<Amount>, amounts: &[Amount]) {
    if sums.is_empty() {
        sums.extend_from_slice(amounts);
        return;
    }
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum = sum.plus(*amount);
    }
}
