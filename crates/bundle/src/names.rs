//! Names of files in an archive, and what those say of a file.

/// The file that makes an archive a crate (RO-Crate 1.1, section 3).
pub(crate) const METADATA: &str = "ro-crate-metadata.json";
/// The list of all hashes, for `sha256sum --check`.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// The page for anyone who opens the archive.
pub(crate) const README: &str = "README.md";
/// The folder of the results as they were.
pub(crate) const RESULTS: &str = "results/";
/// The folder of the scenario and of the files that it names.
pub(crate) const SCENARIO: &str = "scenario/";

/// The media type of a file, by its name; those are registered with IANA.
pub(crate) fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv") => "text/csv",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("html") => "text/html",
        Some("md") => "text/markdown",
        Some("toml") => "application/toml",
        Some("parquet") => "application/vnd.apache.parquet",
        _ if name == SUMS => "text/plain",
        Some("txt" | "trace" | "up" | "down") => "text/plain",
        _ => "application/octet-stream",
    }
}

/// The rule that a name in an archive breaks; `None`: it stays inside the folder that the archive is unpacked into, on
/// every system.
pub(crate) fn flaw(name: &str) -> Option<&'static str> {
    let is_reserved = |part: &str| {
        let stem = part.split('.').next().unwrap_or_default().to_ascii_uppercase();
        ["CON", "PRN", "AUX", "NUL"].contains(&stem.as_str())
            || (stem.len() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT")))
                && stem.ends_with(|c: char| c.is_ascii_digit())
    };
    match () {
        () if name.is_empty() => Some("is empty"),
        () if name.len() > 1024 => Some("is longer than 1024 bytes"),
        () if name.starts_with('/') => Some("is an absolute path"),
        () if name.contains(['\\', ':']) => Some("has a character that is a separator on some systems"),
        () if name.contains(char::is_control) => Some("has a control character"),
        () if name.split('/').any(|part| part == "..") => Some("leads out of the archive's folder"),
        () if name.split('/').any(|part| part.is_empty() || part == ".") => Some("has an empty part"),
        () if name.split('/').any(is_reserved) => Some("is the name of a device on some systems"),
        () => None,
    }
}

/// A name as an `@id` of RO-Crate: a relative URI, in which other characters are escaped.
pub(crate) fn id_of(name: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/+@,=".contains(&b);
    name.bytes().map(|b| if is_plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside() {
        for fine in
            ["README.md", "results/run.json", "scenario/a b/é.toml", "scenario/..x", "COM.md", "COMPUTER"]
        {
            assert_eq!(flaw(fine), None, "{fine}");
        }
        for wrong in
            ["", "/a", "../a", "a/../b", "a//b", "./a", "a\\b", "C:a", "a\nb", "a/", "nul.txt", "a/COM1"]
        {
            assert!(flaw(wrong).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn ids_are_uris() {
        assert_eq!(id_of("results/run.json"), "results/run.json");
        assert_eq!(id_of("a b#é?%"), "a%20b%23%C3%A9%3F%25");
    }
}
