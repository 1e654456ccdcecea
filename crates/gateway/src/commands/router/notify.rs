//! Messages of a service to the program that started it (sd_notify(3)).

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The socket of that program, if there is one.
pub(super) struct Service(Option<(UnixDatagram, SocketAddr)>);

impl Service {
    /// The service that the environment names.
    pub fn of_environment() -> Self {
        Service(std::env::var_os("NOTIFY_SOCKET").and_then(|name| {
            let name = name.as_encoded_bytes();
            let address = match name.split_first()? {
                (b'@', rest) => SocketAddr::from_abstract_name(rest),
                _ => SocketAddr::from_pathname(std::str::from_utf8(name).ok()?),
            };
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_nonblocking(true).ok()?;
            Some((socket, address.ok()?))
        }))
    }

    /// Says it; that nobody listens is nothing to stop for.
    pub fn say(&self, what: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(what.as_bytes(), address);
        }
    }
}
