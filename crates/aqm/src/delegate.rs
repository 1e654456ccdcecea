//! An algorithm built on another one leaves the calls that it does not change to it.

/// The methods of [`Aqm`](crate::Aqm) that a field answers, in an `impl Aqm`:
/// `delegate!(red: on_overflow, on_idle);`.
macro_rules! delegate {
    ($field:ident: $first:ident $(, $method:ident)*) => {
        delegate!(@$first $field);
        $( delegate!(@$method $field); )*
    };
    (@on_enqueue $field:ident) => {
        #[inline]
        fn on_enqueue(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) -> $crate::Verdict {
            self.$field.on_enqueue(cx, pkt)
        }
    };
    (@on_overflow $field:ident) => {
        fn on_overflow(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) {
            self.$field.on_overflow(cx, pkt);
        }
    };
    (@on_idle $field:ident) => {
        fn on_idle(&mut self, since: quell_units::Time) {
            self.$field.on_idle(since);
        }
    };
    // Who owns the calendar begins it.
    (@next_update $field:ident) => {
        fn on_start(&mut self, now: quell_units::Time) {
            self.$field.on_start(now);
        }
        #[inline]
        fn next_update(&self) -> Option<quell_units::Time> {
            self.$field.next_update()
        }
    };
    (@on_update $field:ident) => {
        fn on_update(&mut self, cx: &mut $crate::Ctx<'_>) {
            self.$field.on_update(cx);
        }
    };
}
