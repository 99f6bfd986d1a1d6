//! Names that are like a name that does not exist.

/// Names that are shown at most.
const SHOWN_MAX: usize = 3;
/// From 0 (nothing in common) to 1 (equal).
const LIKENESS_MIN: f32 = 0.6;

/// `: did you mean a, b?` for those of `names` that are like `name`; empty if none is.
///
/// Upper and lower case are alike. Names that contain `name` come after those that look like it as a whole.
pub(crate) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let wanted = name.to_lowercase();
    let names: Vec<(String, &str)> = names.map(|name| (name.to_lowercase(), name)).collect();
    let lower: Vec<&str> = names.iter().map(|(lower, _)| lower.as_str()).collect();
    let mut near = similar::get_close_matches(wanted.as_str(), &lower, SHOWN_MAX, LIKENESS_MIN);
    let part = lower.iter().filter(|name| name.contains(wanted.as_str()) && !wanted.is_empty());
    for name in part {
        if !near.contains(name) {
            near.push(name);
        }
    }
    let as_written =
        |lower: &&str| names.iter().find(|(known, _)| known == lower).map(|(_, name)| *name);
    let near: Vec<&str> = near.iter().take(SHOWN_MAX).filter_map(as_written).collect();
    if near.is_empty() { String::new() } else { format!(": did you mean {}?", near.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn names_that_are_like_it_or_contain_it_are_shown() {
        let names = ["SpotToSpot", "BudgetSpent", "NotDrifted", "SpotInterrupted"];
        let near = |name| did_you_mean(name, names.into_iter());
        assert_eq!(near("SpotToSport"), ": did you mean SpotToSpot?");
        assert_eq!(near("drifted"), ": did you mean NotDrifted?");
        assert_eq!(near("spot"), ": did you mean SpotToSpot, SpotInterrupted?");
        assert_eq!(near("zzz"), "");
        assert_eq!(near(""), "");
    }
}
