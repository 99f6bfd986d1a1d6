//! Secrets are cut out of what a console says, before anything else is done with it: what a line is may be lost,
//! what a secret is may not be shown.

/// What stands in place of a secret.
const CUT: &str = "***";
/// The rest of a line after such a word and `:` or `=` is a secret, whatever the word begins with.
const NAMES: [&str; 12] = [
    "accesskey",
    "apikey",
    "auth",
    "authorization",
    "certificateauthority",
    "credential",
    "credentials",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];
/// The same names in front of further words: `AWS_SECRET_ACCESS_KEY`, `bootstrap-token-file`.
const WITHIN: [&str; 4] = ["secret", "password", "token", "privatekey"];
/// A word of this number of Base64 characters is a key, a certificate or a token.
const ENCODED_LENGTH: usize = 40;
/// A word that begins so is a token.
const BEGINNINGS: [&str; 5] = ["AKIA", "ASIA", "eyJ", "k8s-aws-v1.", "ghp_"];

/// `text` without secrets: keys, tokens, passwords and certificates, line by line.
pub fn cut(text: &str) -> String {
    let mut is_certificate = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let (begins, ends) = (line.contains("-----BEGIN"), line.contains("-----END"));
        let was = is_certificate;
        is_certificate = (is_certificate || begins) && !ends;
        match (was, begins || ends) {
            (false, false) => lines.push(of_line(line)),
            (false, true) => lines.push(CUT.to_owned()),
            (true, _) => {}
        }
    }
    lines.join("\n")
}

fn of_line(line: &str) -> String {
    let line = match secret_after(line) {
        Some(at) => format!("{}{CUT}", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    };
    line.split(' ').map(of_word).collect::<Vec<_>>().join(" ")
}

/// Where the secret of a line begins that says its name: behind `password=`, `"token": `, `Bearer `.
fn secret_after(line: &str) -> Option<usize> {
    let separators = line.match_indices([':', '=', ' ']);
    separators.into_iter().find_map(|(at, separator)| {
        let before = line.get(..at)?.trim_end_matches(['"', '\'']);
        let name =
            before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).next()?;
        let is_option =
            before.ends_with(name) && before.len() > name.len() && name.starts_with('-');
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let is_named = match separator {
            // `--token abc`, `Bearer abc`
            " " => name == "bearer" || (is_option && is_secret(&name)),
            _ => is_secret(&name),
        };
        (is_named && !line.get(at + 1..)?.trim().is_empty()).then_some(at + 1)
    })
}

fn is_secret(name: &str) -> bool {
    NAMES.iter().any(|known| name.ends_with(known)) || WITHIN.iter().any(|part| name.contains(part))
}

/// A word, without what in it looks like a secret by itself.
fn of_word(word: &str) -> String {
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((user, place)) = rest.split_once('@')
        && user.contains(':')
    {
        return format!("{scheme}://{CUT}@{place}");
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/=_-.".contains(c);
    let (mut shown, mut part) = (String::new(), String::new());
    for c in word.chars().chain(['\n']) {
        if is_part(c) {
            part.push(c);
            continue;
        }
        shown.push_str(if looks_secret(&part) { CUT } else { &part });
        part.clear();
        shown.extend((c != '\n').then_some(c));
    }
    shown
}

fn looks_secret(part: &str) -> bool {
    let begins = |start: &str| part.starts_with(start) && start.len() + 8 <= part.len();
    // A bootstrap token: six characters, a point, sixteen.
    let is_token = part.split_once('.').is_some_and(|(id, rest)| {
        let is_plain = |text: &str| {
            text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
                && text.chars().any(|c| c.is_ascii_digit())
        };
        id.len() == 6 && rest.len() == 16 && is_plain(id) && is_plain(rest)
    });
    // Hosts have points, and names have no capitals and digits both.
    let is_encoded = part.split('.').any(|run| {
        ENCODED_LENGTH <= run.len()
            && run.chars().any(|c| c.is_ascii_uppercase())
            && run.chars().any(|c| c.is_ascii_lowercase())
            && run.chars().any(|c| c.is_ascii_digit())
    });
    BEGINNINGS.iter().any(|start| begins(start)) || is_token || is_encoded
}
