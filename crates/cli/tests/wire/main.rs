//! The command with real packets. Apart from the other tests, which compute: beside those packets would be late.

mod router;
mod wire;
