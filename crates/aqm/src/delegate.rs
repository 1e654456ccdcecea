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

            /// What may surprise on a link.
            pub fn remarks(&self, link: &$crate::Link) -> alloc::vec::Vec<$crate::params::Remark> {
                self.0.remarks(link)
            }

            /// The parameters that are not what their defaults are, with their values.
            pub fn changed(&self) -> alloc::vec::Vec<(&'static str, alloc::string::String)> {
                $crate::params::Changed::changed(&self.0)
            }

            /// The parameters that have no effect where no packet is marked.
            pub fn of_marks(&self) -> &'static [&'static str] {
                #[allow(unused_imports)] // some have a method of their own
                use $crate::params::NothingOfMarks as _;
                self.0.of_marks()
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
