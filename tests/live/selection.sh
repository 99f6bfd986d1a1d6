# Sourced from the repository's root: what is compiled with the SDKs of AWS, in a selection that is the same wherever
# they are, because another one compiles them once more. It is all that `cargo test` does not play by itself, and the
# command with its clients.
mapfile -t PLAYED_ALONE < <(sed -n '/^default-members/,/^]/s/^ *"\(.*\/\)\?\([^"]*\)",$/\2/p' Cargo.toml | grep -vx cli)
WITH_SDKS=(--workspace --features cli/live)
for package in "${PLAYED_ALONE[@]}"; do
  WITH_SDKS+=(--exclude "$package")
done
