//! The words of the authors about a bundle: who they are, what it is called, and what others may do with it.

use std::fmt;
use std::str::FromStr;

use quell_scenario::{suggest, unknown};
use quell_units::text::{cut, one_line};

/// The words of the authors about a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The title; `None`: that of the results.
    pub title: Option<String>,
    /// A description in a few sentences; `None`: one that is made from the results.
    pub description: Option<String>,
    /// The authors, in order.
    pub authors: Vec<Author>,
    /// The license; `None`: none is given, so that nobody may reuse it.
    pub license: Option<License>,
}

/// An author: a name, and an ORCID if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The name as it is printed.
    pub name: String,
    /// The ORCID in its sixteen digits, such as `0000-0002-1825-0097`.
    pub orcid: Option<String>,
}

impl FromStr for Author {
    type Err = String;

    /// Reads "Name" or "Name <ORCID>".
    fn from_str(text: &str) -> Result<Author, String> {
        let (name, orcid) = match text.trim().strip_suffix('>').and_then(|rest| rest.split_once('<')) {
            Some((name, orcid)) => (name, Some(read_orcid(orcid)?)),
            None => (text, None),
        };
        let name = one_line(name.trim());
        match name.is_empty() || name.contains(['<', '>']) {
            true => Err("must have the form \"Name <ORCID>\" or \"Name\", such as \"Josiah Carberry \
                         <0000-0002-1825-0097>\""
                .to_string()),
            false => Ok(Author { name, orcid }),
        }
    }
}

/// Reads an ORCID, with or without its address, and checks its last digit.
fn read_orcid(text: &str) -> Result<String, String> {
    let digits = text.trim().trim_start_matches("https://orcid.org/").trim_start_matches("http://orcid.org/");
    let bare: Vec<char> = digits.chars().filter(|c| *c != '-').collect();
    let is_formed = digits.len() == 19
        && digits.char_indices().all(|(i, c)| match i {
            4 | 9 | 14 => c == '-',
            18 => c.is_ascii_digit() || c == 'X',
            _ => c.is_ascii_digit(),
        });
    if !is_formed || check_digit(&bare[..15]) != bare[15] {
        return Err(format!(
            "\"{}\" is not an ORCID: it must have sixteen digits, the last of which is a check digit, such as \
             0000-0002-1825-0097",
            cut(text.trim())
        ));
    }
    Ok(digits.to_string())
}

/// The check digit of ISO 7064 MOD 11-2 over digits.
fn check_digit(digits: &[char]) -> char {
    let total = digits.iter().filter_map(|c| c.to_digit(10)).fold(0, |total, d| (total + d) * 2 % 11);
    match (12 - total % 11) % 11 {
        10 => 'X',
        n => char::from_digit(n, 10).unwrap_or('0'),
    }
}

/// A license: one of those that data and programs are published under, by its SPDX identifier, or the address of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct License {
    /// The address of its text.
    pub url: String,
    /// Its name: the SPDX identifier, if it has one.
    pub name: String,
    /// Its title.
    pub title: String,
}

/// The SPDX identifiers that are known, with their titles.
const LICENSES: &[(&str, &str)] = &[
    ("CC-BY-4.0", "Creative Commons Attribution 4.0 International"),
    ("CC-BY-SA-4.0", "Creative Commons Attribution Share Alike 4.0 International"),
    ("CC-BY-NC-4.0", "Creative Commons Attribution Non Commercial 4.0 International"),
    ("CC0-1.0", "Creative Commons Zero v1.0 Universal"),
    ("ODbL-1.0", "Open Data Commons Open Database License v1.0"),
    ("ODC-By-1.0", "Open Data Commons Attribution License v1.0"),
    ("PDDL-1.0", "Open Data Commons Public Domain Dedication & License 1.0"),
    ("MIT", "MIT License"),
    ("Apache-2.0", "Apache License 2.0"),
    ("BSD-2-Clause", "BSD 2-Clause \"Simplified\" License"),
    ("BSD-3-Clause", "BSD 3-Clause \"New\" or \"Revised\" License"),
];

impl FromStr for License {
    type Err = String;

    fn from_str(text: &str) -> Result<License, String> {
        let text = text.trim();
        if ["https://", "http://"].iter().any(|scheme| text.len() > scheme.len() && text.starts_with(scheme))
        {
            return match text
                .contains(|c: char| c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c))
            {
                true => Err("must be a URL without spaces".to_string()),
                false => {
                    let url = text.to_string();
                    Ok(License { name: url.clone(), title: format!("The license at {url}"), url })
                }
            };
        }
        let names: Vec<&str> = LICENSES.iter().map(|l| l.0).collect();
        match LICENSES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            Some((name, title)) => Ok(License {
                url: format!("https://spdx.org/licenses/{name}"),
                name: (*name).to_string(),
                title: (*title).to_string(),
            }),
            None => {
                let (rule, nearest) = unknown("license", text, &names);
                let known = format!("known: {}; or give its URL (https://...)", names.join(", "));
                Err(suggest(&rule, nearest.as_deref(), Some(&known)))
            }
        }
    }
}

impl fmt::Display for License {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_are_a_name_and_perhaps_an_orcid() {
        let read = |text: &str| text.parse::<Author>().map(|a| (a.name, a.orcid));
        // The example of ORCID's own documentation, and one that ends with X.
        let carberry = Some("0000-0002-1825-0097".to_string());
        for text in [
            "Josiah Carberry <0000-0002-1825-0097>",
            "Josiah Carberry<https://orcid.org/0000-0002-1825-0097>",
        ] {
            assert_eq!(read(text), Ok(("Josiah Carberry".to_string(), carberry.clone())), "{text}");
        }
        assert_eq!(read("A <0000-0002-1694-233X>").unwrap().1.unwrap(), "0000-0002-1694-233X");
        assert_eq!(read(" Ada "), Ok(("Ada".to_string(), None)));
        for wrong in
            ["", "<0000-0002-1825-0097>", "A <0000-0002-1825-0098>", "A <000000021825>", "A <b", "A <>"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("A <0000-0002-1825-0098>").unwrap_err().contains("0000-0002-1825-0098"));
        assert!(read("A <é000-0002-1825-009>").is_err());
    }

    #[test]
    fn licenses_are_known_or_have_an_address() {
        let read = |text: &str| text.parse::<License>();
        assert_eq!(read("cc-by-4.0").unwrap().url, "https://spdx.org/licenses/CC-BY-4.0");
        assert_eq!(read("https://example.org/l").unwrap().url, "https://example.org/l");
        assert!(read("CC-BY-4").unwrap_err().contains("did you mean \"CC-BY-4.0\"?"));
        assert!(read("https://a b").is_err() && read("").is_err() && read("https://").is_err());
    }
}
