//! One text as one word of a script, whatever is in it.

/// A word of a POSIX shell: nothing means anything between single quotes but the quote itself.
///
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_02>
pub(super) fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A word of PowerShell, which takes typographic single quotes for plain ones; between such quotes two
/// of them are one.
///
/// <https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_quoting_rules>
pub(super) fn powershell(text: &str) -> String {
    let mut word = String::from("'");
    for c in text.chars() {
        if matches!(c, '\'' | '\u{2018}'..='\u{201b}') {
            word.push(c);
        }
        word.push(c);
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_told_from_the_end_of_a_word() {
        for (text, shell_word, powershell_word) in [
            ("", "''", "''"),
            ("a b", "'a b'", "'a b'"),
            ("$(x) `x` \"x\" \\", "'$(x) `x` \"x\" \\'", "'$(x) `x` \"x\" \\'"),
            ("'; x '", r"''\''; x '\'''", "'''; x '''"),
            ("\u{2019}; x", "'\u{2019}; x'", "'\u{2019}\u{2019}; x'"),
        ] {
            assert_eq!(shell(text), shell_word);
            assert_eq!(powershell(text), powershell_word);
        }
    }
}
