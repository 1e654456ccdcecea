//! The system calls that no library wraps: the only `unsafe` code of this crate.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Opens the TUN device `name`, which disappears with the descriptor: IP packets without a header before them,
/// reads that do not wait.
///
/// # Errors
/// What the kernel says: `/dev/net/tun` may be closed to this user, or the name taken.
pub fn tun(name: &str) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let fd =
        rustix::fs::open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let mut request = interface(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq, which lives until the call returns.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
}

/// An ifreq that names an interface.
fn interface(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: an ifreq of zeros is one without a name.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.bytes().any(|b| b == 0) {
        let rule =
            format!("the interface name \"{name}\" must have 1 to {} bytes", request.ifr_name.len() - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// The calling thread gets a network namespace of its own.
///
/// # Errors
/// If it may not.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: a new network namespace changes no memory and no descriptor.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A packet socket for all frames that come in on an interface, whole, and for what is sent there.
///
/// # Errors
/// If the interface is missing, or the socket not allowed (CAP_NET_RAW).
pub fn packet_socket(name: &str) -> io::Result<OwnedFd> {
    let all = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: plain system calls; the address and the option live until each returns, and the descriptor is owned
    // by nothing else.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, kind, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = OwnedFd::from_raw_fd(fd);
        let mut request = interface(name)?;
        if libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFINDEX as _, &mut request) < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut address: libc::sockaddr_ll = core::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = request.ifr_ifru.ifru_ifindex;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        if libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) < 0 {
            return Err(io::Error::last_os_error());
        }
        let one: libc::c_int = 1;
        // What this host sends there itself is not to come back.
        let ignore = libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            (&raw const one).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
        if ignore < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
    }
}
