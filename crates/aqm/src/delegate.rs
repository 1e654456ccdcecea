//! An algorithm built on another one leaves the calls that it does not change to it, and what only holds one leaves all.

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

/// All methods of [`Aqm`](crate::Aqm), in an `impl` for what holds an algorithm: `$held!(self.method(...))` calls a
/// method of the one inside.
#[cfg(feature = "catalog")]
macro_rules! forward_aqm {
    ($held:ident) => {
        fn on_start(&mut self, now: quell_units::Time) {
            $held!(self.on_start(now))
        }
        fn on_inherit(&mut self, pkt: &$crate::PacketMeta) {
            $held!(self.on_inherit(pkt))
        }
        fn on_enqueue(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) -> $crate::Verdict {
            $held!(self.on_enqueue(cx, pkt))
        }
        fn on_dequeue(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) -> $crate::Verdict {
            $held!(self.on_dequeue(cx, pkt))
        }
        fn departures(&self) -> $crate::Departures {
            $held!(self.departures())
        }
        fn on_overflow(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) {
            $held!(self.on_overflow(cx, pkt))
        }
        fn on_idle(&mut self, since: quell_units::Time) {
            $held!(self.on_idle(since))
        }
        fn next_update(&self) -> Option<quell_units::Time> {
            $held!(self.next_update())
        }
        fn on_update(&mut self, cx: &mut $crate::Ctx<'_>) {
            $held!(self.on_update(cx))
        }
        fn observe(&self, out: &mut dyn $crate::Probe) {
            $held!(self.observe(out))
        }
    };
}

/// All methods of [`Discipline`](crate::Discipline), as `forward_aqm` has those of an algorithm.
#[cfg(feature = "catalog")]
macro_rules! forward_discipline {
    ($held:ident) => {
        fn draw(&mut self, rng: &mut $crate::Rng) {
            $held!(self.draw(rng))
        }
        fn on_start(&mut self, now: quell_units::Time) {
            $held!(self.on_start(now))
        }
        fn on_inherit(&mut self, lane: usize, pkt: &$crate::PacketMeta) {
            $held!(self.on_inherit(lane, pkt))
        }
        fn lanes(&self) -> usize {
            $held!(self.lanes())
        }
        fn lane_names(&self) -> &'static [&'static str] {
            $held!(self.lane_names())
        }
        fn classify(&mut self, now: quell_units::Time, pkt: &$crate::PacketMeta) -> usize {
            $held!(self.classify(now, pkt))
        }
        fn on_enqueue(
            &mut self,
            cx: &mut $crate::LanesCtx<'_>,
            lane: usize,
            pkt: &$crate::PacketMeta,
        ) -> $crate::Verdict {
            $held!(self.on_enqueue(cx, lane, pkt))
        }
        fn is_crowded(&self, lanes: &$crate::Lanes<'_>, pkt: &$crate::PacketMeta) -> bool {
            $held!(self.is_crowded(lanes, pkt))
        }
        fn victim(
            &mut self,
            cx: &mut $crate::LanesCtx<'_>,
            lane: usize,
            pkt: &$crate::PacketMeta,
        ) -> $crate::Victim {
            $held!(self.victim(cx, lane, pkt))
        }
        fn on_overflow(&mut self, cx: &mut $crate::LanesCtx<'_>, lane: usize, pkt: &$crate::PacketMeta) {
            $held!(self.on_overflow(cx, lane, pkt))
        }
        fn next(&mut self, cx: &mut $crate::LanesCtx<'_>) -> $crate::Next {
            $held!(self.next(cx))
        }
        fn on_dequeue(
            &mut self,
            cx: &mut $crate::LanesCtx<'_>,
            lane: usize,
            pkt: &$crate::PacketMeta,
        ) -> $crate::Verdict {
            $held!(self.on_dequeue(cx, lane, pkt))
        }
        fn on_idle(&mut self, lane: usize, since: quell_units::Time) {
            $held!(self.on_idle(lane, since))
        }
        fn next_update(&self) -> Option<quell_units::Time> {
            $held!(self.next_update())
        }
        fn on_update(&mut self, cx: &mut $crate::LanesCtx<'_>) {
            $held!(self.on_update(cx))
        }
        fn observe(&self, out: &mut dyn $crate::Probe) {
            $held!(self.observe(out))
        }
    };
}

/// Calls a method of what a box holds, for `forward_aqm` and `forward_discipline`.
#[cfg(feature = "catalog")]
macro_rules! boxed {
    ($self:ident.$($call:tt)+) => {
        (**$self).$($call)+
    };
}

/// Declares the parameters of an algorithm in integers, which are those of the algorithm itself, beside a method
/// `constants`: `in_integers!(PiFixedParams(PiParams) => PiFixed);`.
#[cfg(feature = "catalog")]
macro_rules! in_integers {
    ($name:ident($params:ty) => $state:ident) => {
        /// The parameters of the algorithm, for its form in integers.
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $params);

        impl $name {
            /// Documentation of each parameter.
            pub fn docs() -> alloc::vec::Vec<$crate::params::ParamDoc> {
                <$params>::docs()
            }

            /// The algorithm in integers for a link.
            ///
            /// # Errors
            /// Those of the algorithm.
            pub fn build(&self, link: &$crate::Link) -> Result<$state, $crate::params::ParamError> {
                self.constants(link).map($state::new)
            }
        }
    };
}
