//! The rights that are left to a thread that reads packets of strangers.

use std::collections::BTreeMap;
use std::io;

use rustix::thread as rt;
use rustix::thread::CapabilitySet;

/// Gives up everything of the calling thread but the capabilities `keep`, for good, and lets it wake on time. With a
/// `user` it becomes that user and group.
///
/// # Errors
/// What the kernel says.
pub fn confine(keep: CapabilitySet, user: Option<(u32, u32)>) -> io::Result<()> {
    // How late it may wake: the default is 50 us (prctl(2), PR_SET_TIMERSLACK).
    rt::set_current_timer_slack(core::num::NonZeroU64::new(1))?;
    rt::clear_ambient_capability_set()?;
    if let Some((user, group)) = user {
        // Otherwise what is kept would go with the change of user (capabilities(7)).
        rt::set_keep_capabilities(true)?;
        let (user, group) = (rt::Uid::from_raw(user), rt::Gid::from_raw(group));
        rt::set_thread_groups(&[])?;
        rt::set_thread_res_gid(group, group, group)?;
        rt::set_thread_res_uid(user, user, user)?;
    }
    let none = CapabilitySet::empty();
    rt::set_capabilities(None, rt::CapabilitySets { effective: keep, permitted: keep, inheritable: none })?;
    rt::set_no_new_privs(true)?;
    Ok(())
}

/// Tells what `f` finds in a thread that does not have these capabilities.
///
/// # Errors
/// What the kernel says.
pub fn holds_without(rights: CapabilitySet, f: impl FnOnce() -> bool + Send) -> io::Result<bool> {
    std::thread::scope(|scope| {
        let found = scope.spawn(|| {
            let mut sets = rt::capabilities(None)?;
            sets.effective.remove(rights);
            // A process of root's may do what it is permitted, whatever is in effect (access(2)).
            sets.permitted.remove(rights);
            rt::set_capabilities(None, sets)?;
            Ok(f())
        });
        found.join().map_err(|_| io::Error::other("a thread has panicked"))?
    })
}

/// Gives up everything of the calling thread and of all programs that it starts but the capabilities `keep`, for good:
/// no others can be gained, no memory is written to disk, and the system calls [`NEVER`] are closed, where there
/// is a filter for this processor.
///
/// # Errors
/// What the kernel says.
pub fn confine_programs(keep: CapabilitySet) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    rt::clear_ambient_capability_set()?;
    // Those that this kernel knows.
    for right in (0..64).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        match rt::capability_is_in_bounding_set(right) {
            Ok(true) if !keep.contains(right) => match rt::remove_capability_from_bounding_set(right) {
                // That is a right as well (CAP_SETPCAP). What is no longer permitted cannot be gained without it either.
                Ok(()) | Err(rustix::io::Errno::PERM) => {}
                Err(e) => return Err(e.into()),
            },
            Ok(_) => {}
            Err(_) => break,
        }
    }
    let keep = rt::capabilities(None)?.permitted & keep;
    let none = CapabilitySet::empty();
    rt::set_capabilities(None, rt::CapabilitySets { effective: keep, permitted: keep, inheritable: none })?;
    rt::set_no_new_privs(true)?;
    let Ok(arch) = seccompiler::TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let calls = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    let filter = program(calls, Otherwise::Allowed, arch)?;
    seccompiler::apply_filter(&filter).map_err(io::Error::other)
}

/// What neither a firewall's programs nor what starts them ever call: other namespaces and file systems, the kernel's
/// own modules and programs, other processes' memory, the clock and the machine.
const NEVER: &[libc::c_long] = &[
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_personality,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_reboot,
];

/// Closes the file system to the calling thread and those that it starts: what is open stays so. False if this kernel
/// has no landlock, or cannot enforce all of it.
///
/// # Errors
/// If the kernel refuses.
pub fn close_files() -> io::Result<bool> {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus};
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|set| set.handle_access(AccessNet::from_all(ABI::V5)))
        .and_then(|set| set.create())
        .and_then(|set| set.restrict_self())
        .map_err(io::Error::other)?;
    // An older kernel knows fewer kinds of access, and closes those.
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// The system calls of packets, their log and their metrics, once everything is open and every thread has begun.
const CALLS: &[libc::c_long] = &[
    // Sockets that are open: the queue, the supervisor, clients of the metrics.
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_ppoll,
    // Files that are open: the log, the kernel's counters, what is said.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fcntl,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_restart_syscall,
    // Memory, threads that wait for each other, signals, the end.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getrandom,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The thread or process whose system calls [`close_calls`] closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of all threads of this process.
    Process,
    /// Those of the calling thread and of what it starts.
    Thread,
}

/// Leaves the system calls that are needed: no new files, sockets, programs or threads, no signal to another process,
/// and no memory that can be executed. Another call fails as not permitted. False where there is no filter for this
/// processor.
///
/// # Errors
/// If the kernel refuses.
pub fn close_calls(whose: Whose) -> io::Result<bool> {
    let Some(filter) = filter()? else { return Ok(false) };
    let closed = match whose {
        Whose::Process => seccompiler::apply_filter_all_threads(&filter),
        Whose::Thread => seccompiler::apply_filter(&filter),
    };
    closed.map_err(io::Error::other)?;
    Ok(true)
}

fn filter() -> io::Result<Option<seccompiler::BpfProgram>> {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule, TargetArch};
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(None) };
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    calls.insert(libc::SYS_poll, Vec::new());
    let process = std::process::id();
    let mut conditions = || -> Result<(), seccompiler::BackendError> {
        let executable = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            let none = SeccompCondition::new(2, SeccompCmpArgLen::Dword, executable.clone(), 0)?;
            calls.insert(call, vec![SeccompRule::new(vec![none])?]);
        }
        // What ends this process after a failure, and no other.
        let own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, process.into())?;
        calls.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![own])?]);
        Ok(())
    };
    conditions().map_err(io::Error::other)?;
    program(calls, Otherwise::Refused, arch).map(Some)
}

/// What becomes of the system calls that a filter does not name.
enum Otherwise {
    Allowed,
    Refused,
}

/// A filter that names `calls`; what it refuses is not permitted.
fn program(
    calls: BTreeMap<i64, Vec<seccompiler::SeccompRule>>,
    otherwise: Otherwise,
    arch: seccompiler::TargetArch,
) -> io::Result<seccompiler::BpfProgram> {
    use seccompiler::SeccompAction::{Allow, Errno};
    let refused = Errno(libc::EPERM as u32);
    let (others, these) = match otherwise {
        Otherwise::Allowed => (Allow, refused),
        Otherwise::Refused => (refused, Allow),
    };
    let filter = seccompiler::SeccompFilter::new(calls, others, these, arch).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::{TcpListener, UdpSocket};
    use std::thread;

    use super::*;

    /// Threads that end after: the rest of the tests keep their rights.
    #[test]
    fn files_are_closed_and_what_is_open_stays() {
        let closed = thread::spawn(|| {
            let open = File::open("/proc/self/status").unwrap();
            if !close_files().unwrap() {
                println!("skipped: this kernel has no landlock");
                return;
            }
            for path in ["/proc/self/status", "/etc/passwd"] {
                assert_eq!(File::open(path).unwrap_err().kind(), io::ErrorKind::PermissionDenied, "{path}");
            }
            assert!(File::create("/tmp/quell-closed").is_err());
            assert!(io::read_to_string(open).unwrap().starts_with("Name:"));
        });
        closed.join().unwrap();
    }

    #[test]
    fn other_calls_are_refused() {
        let Some(filter) = filter().unwrap() else {
            println!("skipped: there is no filter for this processor");
            return;
        };
        let parent = std::os::unix::process::parent_id();
        let closed = thread::spawn(move || {
            let open = UdpSocket::bind("127.0.0.1:0").unwrap();
            let to = open.local_addr().unwrap();
            seccompiler::apply_filter(&filter).unwrap();
            let refused = |e: io::Error| e.raw_os_error() == Some(libc::EPERM);
            assert!(UdpSocket::bind("127.0.0.1:0").is_err_and(refused));
            assert!(TcpListener::bind("127.0.0.1:0").is_err_and(refused));
            assert!(File::open("/etc/passwd").is_err_and(refused));
            assert!(thread::Builder::new().spawn(|| {}).is_err_and(refused));
            assert!(std::process::Command::new("true").status().is_err());
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            crate::sys::ask_thread(std::process::id(), thread).unwrap();
            assert!(crate::sys::ask_thread(parent, parent as i32).is_err_and(refused));
            // What the worker does goes on.
            let mut bytes = vec![0; 1 << 20];
            open.send_to(b"packet", to).unwrap();
            assert_eq!(open.recv(&mut bytes).unwrap(), 6);
            crate::port::sleep(quell_units::Duration::from_millis(1));
        });
        closed.join().unwrap();
    }
}
