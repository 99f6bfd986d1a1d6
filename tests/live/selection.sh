# Sourced from the repository's root: what is compiled with the SDKs of AWS, in a selection that is the same wherever
# they are, because another one compiles them once more.

# The workspace with everything that is compiled only where a feature is asked for.
WORKSPACE=(--workspace --features cli/live)
# What of it is tested with the SDKs: all that `cargo test` does not test by itself, and the command and the installer
# with their clients.
mapfile -t PLAYED_ALONE < <(sed -n '/^default-members/,/^]/s/^ *"\(.*\/\)\?\([^"]*\)",$/\2/p' Cargo.toml | grep -vx -e cli -e installer)
WITH_SDKS=("${WORKSPACE[@]}")
for package in "${PLAYED_ALONE[@]}"; do
  WITH_SDKS+=(--exclude "$package")
done

# copy_command FILE WORDS…: builds the command as WORDS say, and copies it to FILE. What is built beside this with other
# features takes the place of the one in the target directory, at any time.
copy_command() {
  local file=$1 built messages
  shift
  messages="$(mktemp)" || return
  cargo build "$@" --bin journeyman --message-format=json-render-diagnostics >"$messages" || return
  built="$(sed -n 's/.*"executable":"\([^"]*\/journeyman\)".*/\1/p' "$messages")"
  rm "$messages"
  cp "$built" "$file"
}
