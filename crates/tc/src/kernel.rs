//! Versions of Linux.

use core::fmt;
use core::str::FromStr;

use quell_units::text::cut;

/// A version of Linux: what its qdiscs are, and what they have where a line says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    major: u16,
    minor: u16,
}

impl Kernel {
    /// The oldest version whose defaults are known here.
    pub const OLDEST: Kernel = Kernel::new(6, 1);
    /// The newest version that is known here.
    pub const NEWEST: Kernel = Kernel::new(7, 2);
    /// Those that the tables name: Debian 12, OpenWrt 24.10, Debian 13, and the newest.
    pub const KNOWN: [Kernel; 4] = [Kernel::OLDEST, Kernel::new(6, 6), Kernel::new(6, 12), Kernel::NEWEST];

    /// Those that were booted and asked for their defaults.
    pub const MEASURED: [Kernel; 3] = [Kernel::OLDEST, Kernel::new(6, 12), Kernel::NEWEST];

    /// The version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Kernel { major, minor }
    }
}

impl Default for Kernel {
    /// That of Debian 13.
    fn default() -> Self {
        Kernel::new(6, 12)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Kernel {
    type Err = String;

    /// Reads what `uname -r` prints, or its first two numbers.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.trim().splitn(3, '.');
        let digits = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next().map(str::to_string);
        let mut number = || parts.next().and_then(digits)?.parse::<u16>().ok();
        let read = number().zip(number()).map(|(major, minor)| Kernel::new(major, minor));
        let read = read.ok_or_else(|| {
            format!("\"{}\" is not a version of Linux, such as 6.12: see uname -r", cut(text))
        })?;
        if read < Kernel::OLDEST {
            return Err(format!(
                "Linux {read} is older than {}, the oldest whose defaults are known",
                Kernel::OLDEST
            ));
        }
        Ok(read)
    }
}
