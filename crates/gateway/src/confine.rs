//! What a thread that reads packets of strangers may still do.

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
