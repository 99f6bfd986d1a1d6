//! Numbers in sentences and tables for people. What machines read has them as they are.

/// `1234567` as `1,234,567`.
#[must_use]
pub fn thousands(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same of how many there are of something.
#[must_use]
pub fn many(number: usize) -> String {
    thousands(u128::try_from(number).unwrap_or(u128::MAX))
}

/// `1 pod`, `2 pods`, `1,200 pods`.
#[must_use]
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", many(number)) }
}

/// `text` with a capital letter first.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
