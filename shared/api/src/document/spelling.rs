//! What a name that does not exist may be a misspelling of.

/// What to write instead of `key`, if one of `names` differs from it in upper and lower case alone or in one letter: one
/// more, one less, another one, or two that changed places.
pub(crate) fn cure<'n>(key: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<String> {
    let same = names.clone().find(|name| name.eq_ignore_ascii_case(key));
    if let Some(name) = same {
        return Some(format!("it is spelled `{name}`"));
    }
    let mut near = names.filter(|name| is_one_letter_off(key, name));
    let name = near.next()?;
    // Two names that are as near would be a guess at random.
    near.next().is_none().then(|| format!("did you mean `{name}`?"))
}

/// Letters that a name has at least to be guessed: of shorter ones everything is one letter off.
const LETTERS_MIN: usize = 4;

fn is_one_letter_off(key: &str, name: &str) -> bool {
    let [key, name] = [key, name].map(|text| text.to_lowercase().chars().collect::<Vec<char>>());
    if name.len() < LETTERS_MIN || key.len() < LETTERS_MIN - 1 {
        return false;
    }
    let same = key.iter().zip(&name).take_while(|(a, b)| a == b).count();
    let (key, name) = (key.get(same..).unwrap_or_default(), name.get(same..).unwrap_or_default());
    match (key, name) {
        ([_, key @ ..], [_, name @ ..]) if key == name => true,
        ([_, key @ ..], _) if key == name => true,
        (_, [_, name @ ..]) if key == name => true,
        ([a, b, key @ ..], [c, d, name @ ..]) => (a, b) == (d, c) && key == name,
        _ => false,
    }
}
