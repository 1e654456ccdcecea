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
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &mut request) })?;
    Ok(fd)
}

/// The result of a system call, of which a negative one says that it has failed.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
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
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// A raw socket that does not wait.
fn raw_socket(family: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain system call; the descriptor is owned by nothing else.
    unsafe { Ok(OwnedFd::from_raw_fd(checked(libc::socket(family, kind, protocol))?)) }
}

/// Binds a socket.
///
/// # Safety
/// `address` is one of the socket's family.
unsafe fn bind<A>(socket: &OwnedFd, address: &A) -> io::Result<()> {
    let length = size_of::<A>() as libc::socklen_t;
    // SAFETY: the address lives until the call returns.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const *address).cast(), length) }).map(drop)
}

/// Sets an option of a socket that is an int.
fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let int = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value lives until the call returns.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), int) })
        .map(drop)
}

/// The receive buffer of a packet socket in bytes: thousands of packets, as a TUN device's queue.
const PACKET_BUFFER: libc::c_int = 16 << 20;

/// A packet socket for all frames that come in on an interface, whole, and for what is sent there.
///
/// # Errors
/// If the interface is missing, or the socket not allowed (CAP_NET_RAW).
pub fn packet_socket(name: &str) -> io::Result<OwnedFd> {
    let socket = raw_socket(libc::AF_PACKET, 0)?;
    let mut request = interface(name)?;
    // SAFETY: SIOCGIFINDEX reads and writes one ifreq, which lives until the call returns and has an index then; a
    // sockaddr_ll of zeros is an empty one.
    unsafe {
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFINDEX as _, &mut request))?;
        let mut address: libc::sockaddr_ll = core::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = request.ifr_ifru.ifru_ifindex;
        bind(&socket, &address)?;
    }
    // The default holds a hundred packets, which are gone while the relay sleeps; where more than the limit of
    // net.core.rmem_max is not allowed, up to that.
    for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
        let _ = set(&socket, libc::SOL_SOCKET, option, PACKET_BUFFER);
    }
    // What this host sends there itself is not to come back.
    set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    Ok(socket)
}

/// Turns off everything that would put packets together or leave their checksums to a device: each packet is to be
/// what a link would carry (RFC 8290 section 5.2.4).
///
/// # Errors
/// If the kernel refuses.
pub fn without_offloads(name: &str) -> io::Result<()> {
    /// ETHTOOL_STXCSUM, SSG, STSO, SGSO, SGRO of linux/ethtool.h.
    const COMMANDS: [u32; 5] = [0x17, 0x19, 0x1f, 0x24, 0x2c];
    COMMANDS.iter().try_for_each(|command| ethtool(name, *command).map(drop))
}

/// Gives a command of linux/ethtool.h, with zero, to a device; returns what it answers.
fn ethtool(name: &str, command: u32) -> io::Result<u32> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    /// `struct ethtool_value` of the same header.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let mut value = Value { command, data: 0 };
    let mut request = interface(name)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: SIOCETHTOOL reads one ifreq, and reads and writes the value that it points to; both live until the call
    // returns.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) })?;
    Ok(value.data)
}

/// Lets `command` begin in a user namespace in which its user is root.
pub fn in_user_namespace(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let (users, groups) = (format!("0 {user} 1"), format!("0 {group} 1"));
    let enter = move || {
        // SAFETY: a new user namespace changes no memory and no descriptor.
        checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
        put(c"/proc/self/setgroups", b"deny")?;
        put(c"/proc/self/uid_map", users.as_bytes())?;
        put(c"/proc/self/gid_map", groups.as_bytes())
    };
    // SAFETY: between fork and exec there is one thread, and `enter` neither allocates nor locks: it calls unshare,
    // open, write and close.
    unsafe { command.pre_exec(enter) }
}

/// Lets `command` begin in a network namespace of its own.
pub fn in_network_of_its_own(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    // SAFETY: it does only what is allowed between fork and exec: one system call.
    unsafe { command.pre_exec(unshare_network) }
}

/// Tells whether a device puts received packets together before the kernel sees them (LRO): what is forwarded would
/// not be what came.
///
/// # Errors
/// If the device does not say.
pub fn large_receive(name: &str) -> io::Result<bool> {
    /// ETHTOOL_GFLAGS and ETH_FLAG_LRO of linux/ethtool.h.
    const GET_FLAGS: u32 = 0x25;
    const LARGE_RECEIVE: u32 = 1 << 15;
    Ok(ethtool(name, GET_FLAGS)? & LARGE_RECEIVE != 0)
}

/// Writes a file whole, in one call, and allocates nothing.
fn put(path: &core::ffi::CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: `path` ends with a zero, and it and `bytes` live until the calls return.
    unsafe {
        let fd = checked(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let written = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        let error = io::Error::last_os_error();
        libc::close(fd);
        if written < 0 { Err(error) } else { Ok(()) }
    }
}

/// The bytes that a TCP socket holds because they are not acknowledged.
///
/// # Errors
/// If it is not such a socket.
pub fn unacknowledged(socket: std::os::fd::BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ, which is TIOCOUTQ, writes one int, which lives until the call returns.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ as _, &mut bytes) })?;
    Ok(bytes.max(0) as u32)
}

/// The kernel's account of a TCP connection, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments with data that were sent, those sent again included.
    pub sent: u32,
    /// Segments that were sent again, also those that open the connection.
    pub sent_again: u32,
    /// Retransmission timeouts; kernels before 6.7 do not say.
    pub timeouts: Option<u16>,
    /// Segments of which it is known that they arrived.
    pub delivered: u32,
    /// The smoothed round-trip time in microseconds.
    pub rtt_us: u32,
}

/// Reads the kernel's account of a TCP connection (tcp(7), TCP_INFO; the fields of `struct tcp_info` in linux/tcp.h,
/// of which the kernel gives as many as it has).
///
/// # Errors
/// If it is not such a socket.
pub fn tcp_info(socket: std::os::fd::BorrowedFd<'_>) -> io::Result<TcpInfo> {
    const RTT: usize = 68;
    const TOTAL_RETRANS: usize = 100;
    const DATA_SEGS_OUT: usize = 156;
    const DELIVERED: usize = 192;
    const TOTAL_RTO: usize = 240;
    let mut bytes = [0u8; 256];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `bytes`, and how many to `length`; both live until the call
    // returns.
    let (fd, to) = (socket.as_raw_fd(), bytes.as_mut_ptr().cast());
    checked(unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length) })?;
    // What an older kernel does not have is zero.
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let timeouts = u16::from_ne_bytes([bytes[TOTAL_RTO], bytes[TOTAL_RTO + 1]]);
    Ok(TcpInfo {
        sent: word(DATA_SEGS_OUT),
        sent_again: word(TOTAL_RETRANS),
        timeouts: (length as usize >= TOTAL_RTO + 2).then_some(timeouts),
        delivered: word(DELIVERED),
        rtt_us: word(RTT),
    })
}

/// Closes every descriptor but stdin, stdout and stderr: what this process's parent has left open. Only before this
/// process has opened any itself.
pub fn close_inherited() {
    // SAFETY: one system call; nothing in this process owns a descriptor above 2 yet. A kernel without it closes none.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
}

/// Kills `command` when the thread that starts it ends.
pub fn is_killed_with_its_parent(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    let parent = std::process::id();
    let tie = move || {
        // SAFETY: two system calls, which are allowed between fork and exec.
        let (done, now) = unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
        checked(done)?;
        // One that has ended before does not send it.
        if now as u32 == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: `tie` does only what is allowed between fork and exec.
    unsafe { command.pre_exec(tie) }
}

/// Asks what watches over a command that [`in_processes_of_its_own`] has changed to kill all of it.
pub const END: rustix::process::Signal = rustix::process::Signal::USR2;

/// Puts `command`, and all that it starts, into a PID namespace: whatever ends first, `command` or the thread that starts
/// it, the kernel kills what is left (pid_namespaces(7)).
///
/// The process that is started is not `command`'s but one that watches: it ends as `command` does, once nothing is left,
/// and kills all at [`END`]. Its child is the namespace's process 1, and `command` is the child of that: process 1
/// would be spared all signals that it does not handle. Signals of the terminal reach `command` as before, since all are
/// in one process group. Where it may be, /proc shows the namespace.
pub fn in_processes_of_its_own(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    // SAFETY: `below_an_init` does only what is allowed between fork and exec: system calls, and forks of a process that
    // has one thread.
    unsafe { is_killed_with_its_parent(command).pre_exec(below_an_init) }
}

/// Returns in a grandchild of the process that calls it.
fn below_an_init() -> io::Result<()> {
    let mut ends = [0; 2];
    // SAFETY: plain system calls on descriptors that nothing else knows; the array lives until the call returns.
    unsafe {
        checked(libc::unshare(libc::CLONE_NEWPID))?;
        checked(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK))?;
        match checked(libc::fork())? {
            0 => {}
            init => watch(init, ends[0]),
        }
        // Process 1 from here on.
        libc::close(ends[0]);
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        // A parent that has ended before does not send it; then nobody can read any more.
        let mut reader = libc::pollfd { fd: ends[1], events: 0, revents: 0 };
        if libc::poll(&raw mut reader, 1, 0) != 0 {
            libc::_exit(1);
        }
        own_proc();
        match checked(libc::fork())? {
            0 => Ok(()),
            command => reap(command, ends[1]),
        }
    }
}

/// Shows the calling process's PID namespace in /proc, to it and its children alone. Where that is not allowed, as in
/// many containers, /proc shows the numbers outside.
fn own_proc() {
    let proc = c"proc".as_ptr();
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: the texts live forever, and mount takes null where there is nothing.
    unsafe {
        let none = core::ptr::null();
        let _ = libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_SLAVE, none.cast()) == 0
            && libc::mount(proc, c"/proc".as_ptr(), proc, flags, none.cast()) == 0;
    }
}

/// Blocks all signals and closes all descriptors but one: what starts a command waits until none but `keep` is open here.
///
/// # Safety
/// Nothing in this process may use a descriptor after that.
unsafe fn withdraw(keep: libc::c_int) {
    // SAFETY: the set lives until the calls return; of the descriptors the caller answers.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, core::ptr::null_mut());
        // Whoever ignores this is told of no child.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let close = |from: libc::c_int, to: libc::c_uint| {
            if libc::syscall(libc::SYS_close_range, from as libc::c_uint, to, 0u32) < 0 {
                // Before Linux 5.9.
                let most = libc::sysconf(libc::_SC_OPEN_MAX).clamp(0, 1 << 20) as libc::c_uint;
                (from as libc::c_uint..=to.min(most)).for_each(|fd| _ = libc::close(fd as libc::c_int));
            }
        };
        close(0, (keep - 1) as libc::c_uint);
        close(keep + 1, u32::MAX);
    }
}

/// Waits for process 1 of a namespace, kills it if asked to, and ends as `result` says that the command did.
///
/// # Safety
/// Only in a process of its own: what the process had before is closed.
unsafe fn watch(init: libc::pid_t, result: libc::c_int) -> ! {
    // SAFETY: system calls on this process's own child and descriptors; what they write lives until each returns.
    unsafe {
        withdraw(result);
        let mut heard: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&raw mut heard);
        libc::sigaddset(&raw mut heard, libc::SIGCHLD);
        libc::sigaddset(&raw mut heard, END.as_raw());
        let mut status = 0;
        // It is gone when all others of its namespace are.
        while libc::waitpid(init, &raw mut status, libc::WNOHANG) == 0 {
            let mut signal = 0;
            libc::sigwait(&raw const heard, &raw mut signal);
            if signal == END.as_raw() {
                libc::kill(init, libc::SIGKILL);
            }
        }
        // Where process 1 was killed it has said nothing, and its own end is told.
        let mut said: libc::c_int = 0;
        let size = size_of::<libc::c_int>();
        if libc::read(result, (&raw mut said).cast(), size) == size as isize {
            status = said;
        }
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            // The command has left a core file if it was to leave one.
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            let none: libc::sigset_t = core::mem::zeroed();
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, core::ptr::null_mut());
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}

/// The work of process 1: it takes note of all that end, says how the command did and ends with it.
///
/// # Safety
/// As of [`watch`].
unsafe fn reap(command: libc::pid_t, result: libc::c_int) -> ! {
    // SAFETY: as in `watch`.
    unsafe {
        withdraw(result);
        let mut status: libc::c_int = 0;
        loop {
            let ended = libc::waitpid(-1, &raw mut status, 0);
            if ended == command {
                libc::write(result, (&raw const status).cast(), size_of::<libc::c_int>());
                libc::_exit(0);
            }
            if ended < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                libc::_exit(1);
            }
        }
    }
}

/// A netlink socket to netfilter, which does not wait and drops messages silently rather than reporting a full
/// buffer: the kernel counts them.
///
/// # Errors
/// What the kernel says.
pub fn netfilter_socket() -> io::Result<OwnedFd> {
    const NETLINK_NETFILTER: libc::c_int = 12;
    const BUFFER: libc::c_int = 16 << 20;
    let socket = raw_socket(libc::AF_NETLINK, NETLINK_NETFILTER)?;
    // SAFETY: a sockaddr_nl of zeros is an empty one.
    unsafe {
        let mut address: libc::sockaddr_nl = core::mem::zeroed();
        address.nl_family = libc::AF_NETLINK as u16;
        bind(&socket, &address)?;
    }
    // A larger buffer is a help and no need.
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER);
    set(&socket, libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, 1)?;
    Ok(socket)
}

/// The most messages that [`receive_batch`] takes at once.
const MOST: usize = 64;

/// Receives as many messages as wait, at most one for each of `lengths`, each into its `width` bytes of `buffer`;
/// gives how many.
///
/// # Errors
/// If the socket is gone; that nothing waits is not an error.
///
/// # Panics
/// If `buffer` is too small.
pub fn receive_batch(
    socket: std::os::fd::BorrowedFd<'_>,
    buffer: &mut [u8],
    width: usize,
    lengths: &mut [usize],
) -> io::Result<usize> {
    let count = lengths.len().min(MOST);
    assert!(buffer.len() >= count * width, "a message needs its room");
    // SAFETY: mmsghdr and iovec of zeros are empty ones.
    let mut parts: [libc::iovec; MOST] = unsafe { core::mem::zeroed() };
    let mut heads: [libc::mmsghdr; MOST] = unsafe { core::mem::zeroed() };
    for (i, room) in buffer.chunks_exact_mut(width).take(count).enumerate() {
        parts[i] = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: width };
    }
    for i in 0..count {
        heads[i].msg_hdr.msg_iov = &raw mut parts[i];
        heads[i].msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: each head names one part and each part its own `width` bytes of `buffer`; all live until the call
    // returns.
    let received = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            heads.as_mut_ptr(),
            count as libc::c_uint,
            // Unsigned with musl.
            libc::MSG_DONTWAIT as _,
            core::ptr::null_mut(),
        )
    };
    if received < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
            _ if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(0),
            _ => Err(error),
        };
    }
    for (length, head) in lengths.iter_mut().zip(&heads).take(received as usize) {
        *length = head.msg_len as usize;
    }
    Ok(received as usize)
}

/// Asks whether a thread of `process` could be sent a signal, without sending one.
#[cfg(test)]
pub fn ask_thread(process: u32, thread: i32) -> io::Result<()> {
    // SAFETY: tgkill(2) reads no memory of the caller's, and signal 0 is none (kill(2)).
    let done = unsafe { libc::syscall(libc::SYS_tgkill, process as i32, thread, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
