//! `quell gateway run` is the same program as `quell-gateway run`: the worker that it starts has one thread where it
//! gives up its rights, whatever else the command line brings with it.
#![cfg(target_os = "linux")]

#[path = "../../../gateway/tests/common/router.rs"]
mod common;

use std::time::Duration as Wait;

use self::common::{Net, RECEIVER, check_rights, possible, router};

#[test]
fn the_worker_of_quell_may_do_as_little() {
    if !possible(router()) {
        return;
    }
    let net = Net::new(env!("CARGO_BIN_EXE_quell"), &["gateway"]);
    let before = net.state();
    let running = net.start(&["--wan", "g1", "--up", "50Mbit/s", "--down", "50Mbit/s"]);
    check_rights(&running);
    let stream = net.stream(RECEIVER[1], false, 500, Wait::from_millis(2));
    assert!(stream.until(100, Wait::from_secs(10)));
    assert_eq!(running.stop().0, Some(0));
    assert_eq!(net.state(), before);
}
