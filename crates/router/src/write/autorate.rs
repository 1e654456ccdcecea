//! cake-autorate, which keeps CAKE's rate below that of a varying link.

use super::job::{Job, Unwritable, kilobits};
use super::linux::{LONGEST, ifb, is_ppp};
use crate::platform::Platform;
use crate::shaped::Range;

/// The rate in kbit/s from which on cake-autorate takes a connection for active, in its defaults.sh.
const ACTIVE: u64 = 2000;

/// Adds cake-autorate's settings where a direction varies.
pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    if job.queues.iter().all(|queue| queue.side.range.is_none()) {
        return Ok(());
    }
    if !job.platform.follows() || !job.queues.iter().all(|queue| queue.is("cake")) {
        let note = "the link varies, and a fixed rate is too high at times: cake-autorate follows it with CAKE on \
                    OpenWrt or Linux";
        job.notes.push(note.into());
        return Ok(());
    }
    let wan = job.shaped.wan.as_str();
    // The device whose CAKE has the downloads.
    let down = match job.platform {
        Platform::Networkd => job.lan()?.to_string(),
        _ => ifb(wan),
    };
    let mut text = format!("dl_if={down}\nul_if={wan}\n");
    for (letters, queue) in ["dl", "ul"].into_iter().zip(&job.queues) {
        let rate = queue.side.link.rate;
        let adjust = u8::from(queue.side.range.is_some());
        let Range { least, most } = queue.side.range.unwrap_or(Range { least: rate, most: rate });
        text.push_str(&format!("\nadjust_{letters}_shaper_rate={adjust}\n"));
        for (word, rate) in [("min", least), ("base", rate.clamp(least, most.max(least))), ("max", most)] {
            text.push_str(&format!("{word}_{letters}_shaper_rate_kbps={}\n", kilobits(rate)));
        }
    }
    // Below this a connection counts as idle, and the shaper goes back to its base.
    let slowest =
        job.queues.iter().filter_map(|queue| queue.side.range).map(|range| kilobits(range.least)).min();
    if let Some(slowest) = slowest.filter(|slowest| *slowest <= 2 * ACTIVE) {
        text.push_str(&format!("\nconnection_active_thr_kbps={}\n", slowest / 2));
    }
    if job.platform == Platform::OpenWrt && wan.len() + 4 > LONGEST {
        job.notes.push(format!(
            "sqm gives the device of downloads another name than ifb4{wan}, which is too long: see `tc qdisc`"
        ));
    }
    job.notes.push(
        "cake-autorate changes the rates of CAKE alone, between min and max; base is the rate while the link is quiet. \
         Its other keys keep the values of its defaults.sh; raise the delays of its thresholds if the link's own delay \
         jumps"
            .into(),
    );
    let unit = format!("\"cake-autorate@$(systemd-escape {wan}).service\"");
    let (install, config, start, end) = match job.platform {
        Platform::OpenWrt => (
            OF_OPENWRT.to_string(),
            "/root/cake-autorate/config.primary.sh".to_string(),
            "service cake-autorate enable\nservice cake-autorate start\n".to_string(),
            "service cake-autorate stop\nservice cake-autorate disable\n".to_string(),
        ),
        _ => (
            OF_SYSTEMD.to_string(),
            format!("/etc/cake-autorate/config.{wan}.sh"),
            format!("systemctl enable --now {unit}\n"),
            format!("systemctl disable --now {unit}\n"),
        ),
    };
    if job.platform != Platform::OpenWrt {
        job.notes.push(
            "cake-autorate's own setup.sh takes systems of Debian's family that say so by ID_LIKE in /etc/os-release, which \
             Debian itself does not: the lines do the same on any system with systemd (fping is to be there)"
                .into(),
        );
        if is_ppp(wan) {
            job.notes.push(format!(
                "the service ends with {wan}: start it again in the script of /etc/ppp/ip-up.d"
            ));
        }
    }
    job.part("a shell of root, once, to install cake-autorate for the link that varies", install);
    job.part(config, text);
    job.part("a shell of root, to start cake-autorate, now and at each boot", start);
    job.part("the same, to end cake-autorate", end);
    Ok(())
}

/// How cake-autorate is installed: its INSTALLATION.md for OpenWrt.
const OF_OPENWRT: &str = "\
opkg update && opkg install bash fping || apk add bash fping
wget -O /tmp/cake-autorate_setup.sh https://raw.githubusercontent.com/lynxthecat/cake-autorate/master/setup.sh
sh /tmp/cake-autorate_setup.sh
";

/// The same with systemd, as its setup.sh does it: programs in /opt, settings in /etc, where the unit finds them.
const OF_SYSTEMD: &str = "\
mkdir -p /opt/cake-autorate /etc/cake-autorate
wget -qO- https://codeload.github.com/lynxthecat/cake-autorate/tar.gz/master | tar -xzf - --strip-components=1 -C \
/opt/cake-autorate
mv /opt/cake-autorate/cake-autorate@.service /etc/systemd/system/
systemctl daemon-reload
";
