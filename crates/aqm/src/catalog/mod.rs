//! One line per algorithm. From it come its module, the configuration enum, run-time dispatch, the
//! names users write, citations and labels.

use alloc::boxed::Box;
use alloc::vec::Vec;

use quell_units::Time;
use serde::{Deserialize, Deserializer, Serialize};

use crate::params::{Marks, MarksAlike, ParamDoc, ParamError};
use crate::{
    Algorithm, Aqm, Ctx, Departures, Discipline, Lanes, LanesCtx, Link, Next, PacketMeta, Probe, Rng,
    Verdict, Victim,
};

/// How far an algorithm can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Written from an incomplete description.
    Experimental,
    /// Every equation has known answers.
    Faithful,
    /// Matches published numbers.
    Reproduced,
}

/// What a user may read about one algorithm.
pub struct Entry {
    /// The name in scenario files, documentation and results.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// The family it belongs to.
    pub family: Family,
    /// Who published it where.
    pub source: &'static str,
    /// How far it can be trusted.
    pub label: Label,
    /// Its parameters.
    pub params: fn() -> Vec<ParamDoc>,
    /// Its configuration with every default.
    pub default: fn() -> AqmConfig,
}

macro_rules! catalog {
    ($(
        $(#[$doc:meta])+
        $family:ident, $family_name:literal, $folder:ident {
            $( $variant:ident, $name:literal, $module:ident :: $params:ident => $state:ident, $title:literal, $source:literal, $label:ident; )*
        }
        $( disciplines {
            $( $d_variant:ident, $d_name:literal, $d_module:ident :: $d_params:ident => $d_state:ident, $d_title:literal, $d_source:literal, $d_label:ident; )*
        } )?
    )+) => {
        $(
            // The algorithm that a family is named after is one of its modules.
            #[allow(clippy::module_inception)]
            mod $folder { $( pub mod $module; )* $($( pub mod $d_module; )*)? }
        )+

        /// Each algorithm's module; users need not know the families.
        pub(crate) mod algorithms { $( pub use super::$folder::{ $( $module, )* $($( $d_module, )*)? }; )+ }

        /// What an algorithm goes by. Its file lies in the folder of its family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family { $( $(#[$doc])+ $family, )+ }

        impl Family {
            /// The name in tables.
            pub const fn name(self) -> &'static str {
                match self { $( Family::$family => $family_name, )+ }
            }
        }

        catalog! { @configurations $(
            $( $family, $variant, $name, $module :: $params, $title, $source, $label, Aqm AnyAqm; )*
            $($( $family, $d_variant, $d_name, $d_module :: $d_params, $d_title, $d_source, $d_label, Discipline AnyDiscipline; )*)?
        )+ }

        /// Any algorithm of the catalog that decides for one queue, or a plug-in.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyAqm {
            $($( $variant(crate::$module::$state), )*)+
            /// An algorithm from outside the catalog.
            Custom(Box<dyn Aqm + Send>),
        }

        impl AnyAqm {
            /// A copy that continues identically; `None` for an algorithm from outside the catalog.
            pub fn try_clone(&self) -> Option<AnyAqm> {
                match self {
                    $($( AnyAqm::$variant(a) => Some(AnyAqm::$variant(a.clone())), )*)+
                    AnyAqm::Custom(_) => None,
                }
            }
        }

        /// Any discipline of the catalog, or a plug-in.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyDiscipline {
            $($($( $d_variant(crate::$d_module::$d_state), )*)?)+
            /// A discipline from outside the catalog.
            Custom(Box<dyn Discipline + Send>),
        }

        impl AnyDiscipline {
            /// A copy that continues identically; `None` for a discipline from outside the catalog.
            pub fn try_clone(&self) -> Option<AnyDiscipline> {
                match self {
                    $($($( AnyDiscipline::$d_variant(d) => Some(AnyDiscipline::$d_variant(d.clone())), )*)?)+
                    AnyDiscipline::Custom(_) => None,
                }
            }
        }

        macro_rules! each {
            ($self:expr, $a:ident => $body:expr) => {
                match $self { $($( AnyAqm::$variant($a) => $body, )*)+ AnyAqm::Custom($a) => $body }
            };
        }

        macro_rules! each_discipline {
            ($self:expr, $d:ident => $body:expr) => {
                match $self {
                    $($($( AnyDiscipline::$d_variant($d) => $body, )*)?)+
                    AnyDiscipline::Custom($d) => $body,
                }
            };
        }
    };
    (@configurations $(
        $family:ident, $variant:ident, $name:literal, $module:ident :: $params:ident, $title:literal, $source:literal, $label:ident, $kind:ident $any:ident;
    )+) => {
        /// Every algorithm, in the order in which tables list them.
        pub const CATALOG: &[Entry] = &[$( Entry {
            name: $name,
            title: $title,
            family: Family::$family,
            source: $source,
            label: Label::$label,
            params: crate::$module::$params::docs,
            default: || AqmConfig::$variant(Default::default()),
        }, )+];

        /// An algorithm with its parameters, as a user configures it: a table with the key
        /// `algorithm` and the parameters beside it.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "algorithm")]
        #[allow(missing_docs)]
        pub enum AqmConfig { $( #[serde(rename = $name)] $variant(crate::$module::$params), )+ }

        $( impl MarksAlike for crate::$module::$params {} )+

        impl AqmConfig {
            /// Which packets the algorithm marks: what its parameters say, in a method `marks` of their own.
            pub fn marks(&self) -> Marks {
                match self { $( AqmConfig::$variant(p) => p.marks(), )+ }
            }

            /// The name of the algorithm.
            pub fn name(&self) -> &'static str {
                match self { $( AqmConfig::$variant(_) => $name, )+ }
            }

            /// Reads the parameters of the algorithm called `name`; `None` if there is no such algorithm.
            pub fn deserialize_named<'de, D: Deserializer<'de>>(name: &str, parameters: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $( $name => Some(Deserialize::deserialize(parameters).map(AqmConfig::$variant)), )+
                    _ => None,
                }
            }

            /// The algorithm, ready to decide for a link.
            ///
            /// # Errors
            /// Names the parameter that breaks a rule.
            pub fn build(&self, link: &Link) -> Result<AnyAlgorithm, ParamError> {
                match self { $( AqmConfig::$variant(p) => p.build(link).map(|a| Algorithm::$kind($any::$variant(a))), )+ }
            }
        }

        /// The equations of every algorithm that has some, with its module.
        #[cfg(test)]
        pub(crate) fn equations() -> Vec<(&'static str, &'static [crate::equations::Equation])> {
            alloc::vec![$( (stringify!($module), {
                // Without equations of its own, the module leaves the name to the empty list below.
                #[allow(unused_imports)]
                use crate::$module::*;
                EQUATIONS
            }) ),+]
        }
    };
}

#[cfg(test)]
const EQUATIONS: &[crate::equations::Equation] = &[];

catalog! {
    /// Nothing is decided: packets are lost when the buffer is full.
    Passive, "passive", passive {
        DropTail, "drop-tail", drop_tail::DropTailParams => DropTail, "Drop-tail", "the FIFO of every router", Faithful;
    }
    /// The probability is a function of the queue, or of its average, and of what tunes that function.
    Red, "RED", red {
        Red, "red", red::RedParams => Red, "Random Early Detection", "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993", Faithful;
        Ared, "ared", ared::AredParams => Ared, "Adaptive RED", "Floyd, Gummadi and Shenker, ICSI technical report, 2001", Faithful;
        AredDt, "ared-dt", ared_dt::AredDtParams => AredDt, "Adaptive RED with dynamic thresholds", "Jou, Tan and Baras, technical report CSHCN TR 2003-18, University of Maryland, 2003", Experimental;
        FengAred, "feng-ared", feng_ared::FengAredParams => FengAred, "Feng's Adaptive RED", "Feng, Kandlur, Saha and Shin, IEEE INFOCOM 1999", Faithful;
        AutoTuningRed, "auto-tuning-red", auto_tuning_red::AutoTuningRedParams => AutoTuningRed, "Auto-Tuning RED", "Sirisena, Haider and Pawlikowski, IEEE GLOBECOM 2002", Faithful;
        ApRed, "ap-red", ap_red::ApRedParams => ApRed, "Auto-Parameterization RED", "Chen, PhD thesis, Loughborough University, 2010, chapter 4", Faithful;
        StRed, "st-red", st_red::StRedParams => StRed, "Statistical Tuning RED", "Chen, PhD thesis, Loughborough University, 2010, chapter 5", Faithful;
        FuzzyRed, "fuzzy-red", fuzzy_red::FuzzyRedParams => FuzzyRed, "Fuzzy RED", "Trinh and Molnár, A Comprehensive Performance Analysis of Random Early Detection Mechanism", Experimental;
        Hred, "hred", hred::HredParams => Hred, "Hybrid RED", "Joo, Bahk and Lumetta, Journal of Communications and Networks 8(1), 2006", Faithful;
        HredFixed, "hred-fixed", hred_fixed::HredFixedParams => HredFixed, "Hybrid RED in integers", "Joo, Bahk and Lumetta, Journal of Communications and Networks 8(1), 2006", Faithful;
        RedFixed, "red-fixed", red_fixed::RedFixedParams => RedFixed, "Random Early Detection in integers", "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993", Faithful;
        AredFixed, "ared-fixed", ared_fixed::AredFixedParams => AredFixed, "Adaptive RED in integers", "Floyd, Gummadi and Shenker, ICSI technical report, 2001", Faithful;
        Wred, "wred", wred::WredParams => Wred, "Weighted RED", "Cisco, Distributed Weighted Random Early Detection, IOS 11.1", Faithful;
        Dsred, "dsred", dsred::DsredParams => Dsred, "Double Slope RED", "Zheng and Atiquzzaman, IEEE LCN 2000", Experimental;
        PdRed, "pd-red", pd_red::PdRedParams => PdRed, "PD-RED", "Sun, Ko, Chen, Chan and Zukerman, IEEE Communications Letters 7(8), 2003", Experimental;
    }
    /// A controller holds the queue at a target.
    Control, "control", control {
        Pi, "pi", pi::PiParams => Pi, "PI controller", "Hollot, Misra, Towsley and Gong, IEEE INFOCOM 2001", Faithful;
        Rem, "rem", rem::RemParams => Rem, "Random Exponential Marking", "Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001", Faithful;
        Pid, "pid", pid::PidParams => Pid, "PID controller", "Park, Lim, Park and Choi, Computer Networks 44(1), 2004", Experimental;
        Dred, "dred", dred::DredParams => Dred, "Dynamic RED", "Aweya, Ouellette and Montuno, Computer Networks 36(2-3), 2001", Experimental;
        StPi, "st-pi", st_pi::StPiParams => StPi, "Statistical Tuning PI", "Chen, PhD thesis, Loughborough University, 2010, chapter 6", Faithful;
        PiFixed, "pi-fixed", pi_fixed::PiFixedParams => PiFixed, "PI controller in integers", "Hollot, Misra, Towsley and Gong, IEEE INFOCOM 2001", Faithful;
        Lred, "lred", lred::LredParams => Lred, "Loss Ratio based RED", "Wang, Liu, Li, Sohraby and Hou, IEEE TPDS 18(1), 2007", Experimental;
    }
    /// The time that packets spend in the queue is held to a target.
    Delay, "delay", delay {
        Codel, "codel", codel::CodelParams => Codel, "Controlled Delay", "Nichols, Jacobson, McGregor and Iyengar, RFC 8289, 2018", Faithful;
        Pi2, "pi2", pi2::Pi2Params => Pi2, "PI improved with a square", "De Schepper, Bondarenko, Tsang and Briscoe, ACM CoNEXT 2016", Faithful;
        Cobalt, "cobalt", cobalt::CobaltParams => Cobalt, "CoDel and BLUE alternate", "Høiland-Jørgensen, Täht and Morton, IEEE LANMAN 2018", Experimental;
        DocsisPie, "docsis-pie", docsis_pie::DocsisPieParams => DocsisPie, "DOCSIS-PIE", "White and Pan, RFC 8034, 2017", Faithful;
        Step, "step", step::StepParams => Step, "Step marking", "De Schepper and Briscoe, RFC 9331, 2023", Faithful;
        Pie, "pie", pie::PieParams => Pie, "Proportional Integral Controller Enhanced", "Pan, Natarajan, Baker and White, RFC 8033, 2017", Faithful;
    } disciplines {
        DualPi2, "dualpi2", dualpi2::DualPi2Params => DualPi2, "Dual-queue coupled PI2", "De Schepper, Briscoe and White, RFC 9332, 2023", Faithful;
        CurvyRed, "curvy-red", curvy_red::CurvyRedParams => CurvyRed, "Dual-queue coupled Curvy RED", "De Schepper, Briscoe and White, RFC 9332 Appendix B, 2023", Experimental;
    }
    /// The arrival rate, or what tells of it, is held against the link.
    Load, "load", load {
        Green, "green", green::GreenParams => Green, "GREEN", "Feng, Kapadia and Thulasidasan, IEEE GLOBECOM 2002", Experimental;
        Blue, "blue", blue::BlueParams => Blue, "BLUE", "Feng, Kandlur, Saha and Shin, technical report UM CSE-TR-387-99, 1999", Faithful;
        BlueFixed, "blue-fixed", blue_fixed::BlueFixedParams => BlueFixed, "BLUE in integers", "Feng, Kandlur, Saha and Shin, technical report UM CSE-TR-387-99, 1999", Faithful;
        Avq, "avq", avq::AvqParams => Avq, "Adaptive Virtual Queue", "Kunniyur and Srikant, ACM SIGCOMM 2001", Faithful;
        AvqRate, "avq-rate", avq_rate::AvqRateParams => AvqRate, "AVQ as a rate controller", "Park, Lim, Park and Choi, Computer Networks 44(1), 2004", Experimental;
        Spf, "spf", spf::SpfParams => Spf, "Simple Probabilistic Forwarding", "Stoica, Shenker and Zhang, ACM SIGCOMM 1998", Experimental;
        Vrc, "vrc", vrc::VrcParams => Vrc, "Virtual Rate Control", "Park, Lim, Park and Choi, Computer Networks 44(1), 2004", Experimental;
        Policer, "policer", policer::PolicerParams => Policer, "Token-bucket policer", "Heinanen and Guerin, RFC 2697, 1999", Faithful;
        ERed, "e-red", e_red::ERedParams => ERed, "Exponential RED", "Liu, Basar and Srikant, IEEE/ACM ToN 13(5), 2005", Experimental;
    }
    /// Flows are told apart.
    Flow, "flow", flow {
        Sred, "sred", sred::SredParams => Sred, "Stabilized RED", "Ott, Lakshman and Wong, IEEE INFOCOM 1999", Experimental;
        Sfb, "sfb", sfb::SfbParams => Sfb, "Stochastic fair BLUE", "Feng, Kandlur, Saha and Shin, IEEE INFOCOM 2001", Experimental;
        Choke, "choke", choke::ChokeParams => Choke, "CHOKe", "Pan, Prabhakar and Psounis, IEEE INFOCOM 2000", Experimental;
        Fred, "fred", fred::FredParams => Fred, "Flow Random Early Drop", "Lin and Morris, ACM SIGCOMM 1997", Experimental;
    } disciplines {
        RedTail, "red+tail", red_tail::RedTailParams => RedTail, "RED+Tail", "Jou, Tan and Baras, technical report CSHCN TR 2003-18, University of Maryland, 2003", Experimental;
        FqCodel, "fq-codel", fq_codel::FqCodelParams => FqCodel, "Flow Queue CoDel", "Hoeiland-Joergensen, McKenney, Taht, Gettys and Dumazet, RFC 8290, 2018", Faithful;
        FqPie, "fq-pie", fq_pie::FqPieParams => FqPie, "Flow Queue PIE", "Tahiliani, draft-ietf-tsvwg-fq-pie, 2025", Faithful;
        FqBlue, "fq-blue", fq_blue::FqBlueParams => FqBlue, "Flow Queue BLUE", "Feng, Kandlur, Saha and Shin, technical report UM CSE-TR-387-99, 1999, in the queues of RFC 8290", Experimental;
        Sfq, "sfq", sfq::SfqParams => Sfq, "Stochastic Fairness Queueing", "McKenney, IEEE INFOCOM 1990", Faithful;
        SfqRed, "sfq-red", sfq_red::SfqRedParams => SfqRed, "Stochastic Fairness Queueing with RED", "McKenney, IEEE INFOCOM 1990; Linux's sfq, 2012", Experimental;
        Cake, "cake", cake::CakeParams => Cake, "Common Applications Kept Enhanced", "Høiland-Jørgensen, Täht and Morton, IEEE LANMAN 2018", Faithful;
    }
}

/// What [`AqmConfig::build`] gives.
pub type AnyAlgorithm = Algorithm<AnyAqm, AnyDiscipline>;

impl AnyAlgorithm {
    /// A copy that continues identically; `None` for a plug-in.
    pub fn try_clone(&self) -> Option<Self> {
        match self {
            Algorithm::Aqm(a) => a.try_clone().map(Algorithm::Aqm),
            Algorithm::Discipline(d) => d.try_clone().map(Algorithm::Discipline),
        }
    }

    /// Hands the algorithm over as its own type, so that a host's code can be compiled for it.
    pub fn visit<V: Visitor>(self, visitor: V) -> V::Output {
        match self {
            Algorithm::Aqm(a) => each!(a, a => visitor.visit(a)),
            Algorithm::Discipline(d) => each_discipline!(d, d => visitor.visit_discipline(d)),
        }
    }

    /// Reports internal signals with their units.
    pub fn observe(&self, out: &mut dyn Probe) {
        match self {
            Algorithm::Aqm(a) => a.observe(out),
            Algorithm::Discipline(d) => d.observe(out),
        }
    }
}

impl From<AnyAqm> for AnyAlgorithm {
    fn from(aqm: AnyAqm) -> Self {
        Algorithm::Aqm(aqm)
    }
}

impl From<AnyDiscipline> for AnyAlgorithm {
    fn from(discipline: AnyDiscipline) -> Self {
        Algorithm::Discipline(discipline)
    }
}

/// What a host does with an algorithm whose type it is to know, see [`AnyAlgorithm::visit`].
pub trait Visitor {
    /// The result.
    type Output;
    /// Does it with an algorithm of one FIFO.
    fn visit<A: Aqm + Send + 'static>(self, aqm: A) -> Self::Output;
    /// Does it with a discipline.
    fn visit_discipline<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Output;
}

// Where it is to be fast, each caller has all algorithms' decisions in its own code. A test has many callers, and waits
// a minute for that code.
impl Aqm for AnyAqm {
    fn on_start(&mut self, now: Time) {
        each!(self, a => a.on_start(now))
    }
    fn on_inherit(&mut self, pkt: &PacketMeta) {
        each!(self, a => a.on_inherit(pkt))
    }
    #[cfg_attr(not(debug_assertions), inline)]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        each!(self, a => a.on_enqueue(cx, pkt))
    }
    #[cfg_attr(not(debug_assertions), inline)]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        each!(self, a => a.on_dequeue(cx, pkt))
    }
    fn departures(&self) -> Departures {
        each!(self, a => a.departures())
    }
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        each!(self, a => a.on_overflow(cx, pkt))
    }
    fn on_idle(&mut self, since: Time) {
        each!(self, a => a.on_idle(since))
    }
    #[cfg_attr(not(debug_assertions), inline)]
    fn next_update(&self) -> Option<Time> {
        each!(self, a => a.next_update())
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        each!(self, a => a.on_update(cx))
    }
    fn observe(&self, out: &mut dyn Probe) {
        each!(self, a => a.observe(out))
    }
}

impl Discipline for AnyDiscipline {
    fn draw(&mut self, rng: &mut Rng) {
        each_discipline!(self, d => d.draw(rng))
    }
    fn on_start(&mut self, now: Time) {
        each_discipline!(self, d => d.on_start(now))
    }
    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {
        each_discipline!(self, d => d.on_inherit(lane, pkt))
    }
    fn lanes(&self) -> usize {
        each_discipline!(self, d => d.lanes())
    }
    fn lane_names(&self) -> &'static [&'static str] {
        each_discipline!(self, d => d.lane_names())
    }
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        each_discipline!(self, d => d.classify(now, pkt))
    }
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        each_discipline!(self, d => d.on_enqueue(cx, lane, pkt))
    }
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        each_discipline!(self, d => d.is_crowded(lanes, pkt))
    }
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        each_discipline!(self, d => d.victim(cx, lane, pkt))
    }
    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        each_discipline!(self, d => d.on_overflow(cx, lane, pkt))
    }
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        each_discipline!(self, d => d.next(cx))
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        each_discipline!(self, d => d.on_dequeue(cx, lane, pkt))
    }
    fn on_idle(&mut self, lane: usize, since: Time) {
        each_discipline!(self, d => d.on_idle(lane, since))
    }
    fn next_update(&self) -> Option<Time> {
        each_discipline!(self, d => d.next_update())
    }
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        each_discipline!(self, d => d.on_update(cx))
    }
    fn observe(&self, out: &mut dyn Probe) {
        each_discipline!(self, d => d.observe(out))
    }
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOG.iter().find(|e| e.name == name)
}
