//! EC2's wildcards, as its filters take them.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html>

/// Whether `value` is what `pattern` says: `*` is any text, `?` any letter, `\` takes the next one
/// as it is.
pub fn is_like(pattern: &str, value: &str) -> bool {
    fn rest(pattern: &[char], value: &[char]) -> bool {
        match pattern {
            [] => value.is_empty(),
            ['*', pattern @ ..] => {
                (0..=value.len()).any(|skipped| rest(pattern, value.get(skipped..).unwrap_or(&[])))
            }
            ['?', pattern @ ..] => {
                value.split_first().is_some_and(|(_, value)| rest(pattern, value))
            }
            ['\\', letter, pattern @ ..] | [letter, pattern @ ..] => value
                .split_first()
                .is_some_and(|(first, value)| first == letter && rest(pattern, value)),
        }
    }
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    rest(&letters(pattern), &letters(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_ec2s() {
        for (pattern, value, expected) in [
            ("a*", "abc", true),
            ("a*", "bc", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("*", "", true),
            ("abc", "abcd", false),
        ] {
            assert_eq!(is_like(pattern, value), expected, "{pattern} {value}");
        }
    }
}
