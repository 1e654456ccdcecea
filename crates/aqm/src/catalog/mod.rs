//! One line per algorithm. From it come its module, the configuration enum, run-time dispatch, the
//! names users write, citations and labels.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize};

use crate::params::{
    Changed as _, Marks, MarksAlike, NothingOfMarks, NothingRemarkable, ParamDoc, ParamError, Remark,
};
use crate::{Algorithm, Aqm, Discipline, Link, Probe};

/// Degree to which an algorithm can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Written from an incomplete description.
    Experimental,
    /// Every equation has known answers.
    Faithful,
    /// Four of five published numbers that need a simulation come out.
    Reproduced,
}

/// Documentation of one algorithm.
pub struct Entry {
    /// The name in scenario files, documentation and results.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// The family it belongs to.
    pub family: Family,
    /// Its publication: authors, place and year.
    pub source: &'static str,
    /// The degree to which it can be trusted.
    pub label: Label,
    /// Its parameters.
    pub params: fn() -> Vec<ParamDoc>,
    /// Its configuration with every default.
    pub default: fn() -> AqmConfig,
}

macro_rules! catalog {
    ($(
        $(#[$doc:meta])+
        $family:ident { name: $family_name:literal, folder: $folder:ident }
        aqms { $( $aqm:ident { name: $name:literal, params: $module:ident :: $params:ident, $($about:tt)* } )* }
        $( disciplines {
            $( $d:ident { name: $d_name:literal, params: $d_module:ident :: $d_params:ident, $($d_about:tt)* } )*
        } )?
    )+) => {
        $(
            // The algorithm that a family is named after is one of its modules.
            #[allow(clippy::module_inception)]
            mod $folder { $( pub mod $module; )* $($( pub mod $d_module; )*)? }
        )+

        /// Each algorithm's module; users need not know the families.
        pub(crate) mod algorithms { $( pub use super::$folder::{ $( $module, )* $($( $d_module, )*)? }; )+ }

        /// The quantity by which an algorithm decides. Its file lies in the folder of its family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family { $( $(#[$doc])+ $family, )+ }

        impl Family {
            /// The name in tables.
            pub const fn name(self) -> &'static str {
                match self { $( Family::$family => $family_name, )+ }
            }
        }

        catalog! { @configurations $(
            $( $aqm { $family, Aqm(AnyAqm), name: $name, params: $module::$params, $($about)* } )*
            $($( $d { $family, Discipline(AnyDiscipline), name: $d_name, params: $d_module::$d_params, $($d_about)* } )*)?
        )+ }

        catalog! {
            @any
            /// Any algorithm of the catalog that decides for one queue, or a plug-in.
            AnyAqm(Aqm), each: $($( $module::$aqm, )*)+
        }

        catalog! {
            @any
            /// Any discipline of the catalog, or a plug-in.
            AnyDiscipline(Discipline), each_discipline: drop_tail::DropFront, $($($( $d_module::$d, )*)?)+
        }
    };
    (@any
        $(#[$doc:meta])+
        $any:ident($contract:ident), $each:ident: $( $module:ident :: $variant:ident, )*
    ) => {
        $(#[$doc])+
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum $any {
            $( $variant(crate::$module::$variant), )*
            /// One from outside the catalog.
            Custom(Box<dyn $contract + Send>),
        }

        impl $any {
            /// A copy that continues identically; `None` for one from outside the catalog.
            pub fn try_clone(&self) -> Option<Self> {
                match self {
                    $( $any::$variant(a) => Some($any::$variant(a.clone())), )*
                    $any::Custom(_) => None,
                }
            }
        }

        macro_rules! $each {
            ($self:expr, $a:ident => $body:expr) => {
                match $self { $( $any::$variant($a) => $body, )* $any::Custom($a) => $body }
            };
        }
    };
    (@configurations $(
        $variant:ident {
            $family:ident, $kind:ident($any:ident), name: $name:literal, params: $module:ident :: $params:ident,
            title: $title:literal, source: $source:literal, label: $label:ident
        }
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
        $( impl NothingRemarkable for crate::$module::$params {} )+
        $( impl NothingOfMarks for crate::$module::$params {} )+
        $( impl NothingInstead for crate::$module::$params {} )+

        impl AqmConfig {
            /// Packets that the algorithm marks, as a method `marks` of its parameters says if they have one.
            pub fn marks(&self) -> Marks {
                match self { $( AqmConfig::$variant(p) => p.marks(), )+ }
            }

            /// What may surprise on a link, as a method `remarks` of its parameters says if they have one.
            pub fn remarks(&self, link: &Link) -> Vec<Remark> {
                match self { $( AqmConfig::$variant(p) => p.remarks(link), )+ }
            }

            /// The parameters that are not what their defaults are, with their values.
            pub fn changed(&self) -> Vec<(&'static str, String)> {
                match self { $( AqmConfig::$variant(p) => p.changed(), )+ }
            }

            /// The parameters that have no effect where no packet is marked, as a method `of_marks` of its parameters says
            /// if they have one.
            pub fn of_marks(&self) -> &'static [&'static str] {
                match self { $( AqmConfig::$variant(p) => p.of_marks(), )+ }
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
                match self { $( AqmConfig::$variant(p) => match p.instead(link) {
                    Some(other) => Ok(other),
                    None => p.build(link).map(|a| Algorithm::$kind($any::$variant(a))),
                }, )+ }
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
    Passive { name: "passive", folder: passive } aqms {
        DropTail { name: "drop-tail", params: drop_tail::DropTailParams, title: "Drop-tail", source: "the FIFO of every router", label: Faithful }
    }
    /// The probability is a function of the queue, or of its average, and of what tunes that function.
    Red { name: "RED", folder: red } aqms {
        Red { name: "red", params: red::RedParams, title: "Random Early Detection", source: "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993", label: Reproduced }
        Ared { name: "ared", params: ared::AredParams, title: "Adaptive RED", source: "Floyd, Gummadi and Shenker, ICSI technical report, 2001", label: Faithful }
        AredDt { name: "ared-dt", params: ared_dt::AredDtParams, title: "Adaptive RED with dynamic thresholds", source: "Jou, Tan and Baras, technical report CSHCN TR 2003-18, University of Maryland, 2003", label: Experimental }
        FengAred { name: "feng-ared", params: feng_ared::FengAredParams, title: "Feng's Adaptive RED", source: "Feng, Kandlur, Saha and Shin, IEEE INFOCOM 1999", label: Faithful }
        AutoTuningRed { name: "auto-tuning-red", params: auto_tuning_red::AutoTuningRedParams, title: "Auto-Tuning RED", source: "Sirisena, Haider and Pawlikowski, IEEE GLOBECOM 2002", label: Faithful }
        ApRed { name: "ap-red", params: ap_red::ApRedParams, title: "Auto-Parameterization RED", source: "Chen, PhD thesis, Loughborough University, 2010, chapter 4", label: Faithful }
        StRed { name: "st-red", params: st_red::StRedParams, title: "Statistical Tuning RED", source: "Chen, PhD thesis, Loughborough University, 2010, chapter 5", label: Faithful }
        FuzzyRed { name: "fuzzy-red", params: fuzzy_red::FuzzyRedParams, title: "Fuzzy RED", source: "Trinh and Molnár, A Comprehensive Performance Analysis of Random Early Detection Mechanism", label: Experimental }
        Hred { name: "hred", params: hred::HredParams, title: "Hybrid RED", source: "Joo, Bahk and Lumetta, Journal of Communications and Networks 8(1), 2006", label: Faithful }
        HredFixed { name: "hred-fixed", params: hred_fixed::HredFixedParams, title: "Hybrid RED in integers", source: "Joo, Bahk and Lumetta, Journal of Communications and Networks 8(1), 2006", label: Faithful }
        RedFixed { name: "red-fixed", params: red_fixed::RedFixedParams, title: "Random Early Detection in integers", source: "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993", label: Faithful }
        AredFixed { name: "ared-fixed", params: ared_fixed::AredFixedParams, title: "Adaptive RED in integers", source: "Floyd, Gummadi and Shenker, ICSI technical report, 2001", label: Faithful }
        Wred { name: "wred", params: wred::WredParams, title: "Weighted RED", source: "Cisco, Distributed Weighted Random Early Detection, IOS 11.1", label: Faithful }
        Dsred { name: "dsred", params: dsred::DsredParams, title: "Double Slope RED", source: "Zheng and Atiquzzaman, IEEE LCN 2000", label: Experimental }
        PdRed { name: "pd-red", params: pd_red::PdRedParams, title: "PD-RED", source: "Sun, Ko, Chen, Chan and Zukerman, IEEE Communications Letters 7(8), 2003", label: Experimental }
    }
    /// A controller holds the queue at a target.
    Control { name: "control", folder: control } aqms {
        Pi { name: "pi", params: pi::PiParams, title: "PI controller", source: "Hollot, Misra, Towsley and Gong, IEEE INFOCOM 2001", label: Faithful }
        Rem { name: "rem", params: rem::RemParams, title: "Random Exponential Marking", source: "Athuraliya, Li, Low and Yin, IEEE Network 15(3), 2001", label: Faithful }
        Pid { name: "pid", params: pid::PidParams, title: "PID controller", source: "Park, Lim, Park and Choi, Computer Networks 44(1), 2004", label: Experimental }
        Dred { name: "dred", params: dred::DredParams, title: "Dynamic RED", source: "Aweya, Ouellette and Montuno, Computer Networks 36(2-3), 2001", label: Experimental }
        StPi { name: "st-pi", params: st_pi::StPiParams, title: "Statistical Tuning PI", source: "Chen, PhD thesis, Loughborough University, 2010, chapter 6", label: Faithful }
        PiFixed { name: "pi-fixed", params: pi_fixed::PiFixedParams, title: "PI controller in integers", source: "Hollot, Misra, Towsley and Gong, IEEE INFOCOM 2001", label: Faithful }
        Lred { name: "lred", params: lred::LredParams, title: "Loss Ratio based RED", source: "Wang, Liu, Li, Sohraby and Hou, IEEE TPDS 18(1), 2007", label: Experimental }
    }
    /// The time that packets spend in the queue is held to a target.
    Delay { name: "delay", folder: delay } aqms {
        Codel { name: "codel", params: codel::CodelParams, title: "Controlled Delay", source: "Nichols, Jacobson, McGregor and Iyengar, RFC 8289, 2018", label: Faithful }
        Pi2 { name: "pi2", params: pi2::Pi2Params, title: "PI improved with a square", source: "De Schepper, Bondarenko, Tsang and Briscoe, ACM CoNEXT 2016", label: Faithful }
        Cobalt { name: "cobalt", params: cobalt::CobaltParams, title: "CoDel and BLUE alternate", source: "Høiland-Jørgensen, Täht and Morton, IEEE LANMAN 2018", label: Experimental }
        DocsisPie { name: "docsis-pie", params: docsis_pie::DocsisPieParams, title: "DOCSIS-PIE", source: "White and Pan, RFC 8034, 2017", label: Faithful }
        Step { name: "step", params: step::StepParams, title: "Step marking", source: "De Schepper and Briscoe, RFC 9331, 2023", label: Faithful }
        Pie { name: "pie", params: pie::PieParams, title: "Proportional Integral Controller Enhanced", source: "Pan, Natarajan, Baker and White, RFC 8033, 2017", label: Faithful }
    } disciplines {
        DualPi2 { name: "dualpi2", params: dualpi2::DualPi2Params, title: "Dual-queue coupled PI2", source: "De Schepper, Briscoe and White, RFC 9332, 2023", label: Faithful }
        CurvyRed { name: "curvy-red", params: curvy_red::CurvyRedParams, title: "Dual-queue coupled Curvy RED", source: "De Schepper, Briscoe and White, RFC 9332 Appendix B, 2023", label: Experimental }
    }
    /// The arrival rate, or a measure of it, is compared with the link.
    Load { name: "load", folder: load } aqms {
        Green { name: "green", params: green::GreenParams, title: "GREEN", source: "Feng, Kapadia and Thulasidasan, IEEE GLOBECOM 2002", label: Experimental }
        Blue { name: "blue", params: blue::BlueParams, title: "BLUE", source: "Feng, Kandlur, Saha and Shin, technical report UM CSE-TR-387-99, 1999", label: Faithful }
        BlueFixed { name: "blue-fixed", params: blue_fixed::BlueFixedParams, title: "BLUE in integers", source: "Feng, Kandlur, Saha and Shin, technical report UM CSE-TR-387-99, 1999", label: Faithful }
        Avq { name: "avq", params: avq::AvqParams, title: "Adaptive Virtual Queue", source: "Kunniyur and Srikant, ACM SIGCOMM 2001", label: Faithful }
        AvqRate { name: "avq-rate", params: avq_rate::AvqRateParams, title: "AVQ as a rate controller", source: "Park, Lim, Park and Choi, Computer Networks 44(1), 2004", label: Experimental }
        Spf { name: "spf", params: spf::SpfParams, title: "Simple Probabilistic Forwarding", source: "Stoica, Shenker and Zhang, ACM SIGCOMM 1998", label: Experimental }
        Vrc { name: "vrc", params: vrc::VrcParams, title: "Virtual Rate Control", source: "Park, Lim, Park and Choi, Computer Networks 44(1), 2004", label: Experimental }
        Policer { name: "policer", params: policer::PolicerParams, title: "Token-bucket policer", source: "Heinanen and Guerin, RFC 2697, 1999", label: Faithful }
        ERed { name: "e-red", params: e_red::ERedParams, title: "Exponential RED", source: "Liu, Basar and Srikant, IEEE/ACM ToN 13(5), 2005", label: Experimental }
    }
    /// Flows are told apart.
    Flow { name: "flow", folder: flow } aqms {
        Sred { name: "sred", params: sred::SredParams, title: "Stabilized RED", source: "Ott, Lakshman and Wong, IEEE INFOCOM 1999", label: Experimental }
        Sfb { name: "sfb", params: sfb::SfbParams, title: "Stochastic fair BLUE", source: "Feng, Kandlur, Saha and Shin, IEEE INFOCOM 2001", label: Experimental }
        Choke { name: "choke", params: choke::ChokeParams, title: "CHOKe", source: "Pan, Prabhakar and Psounis, IEEE INFOCOM 2000", label: Experimental }
        Fred { name: "fred", params: fred::FredParams, title: "Flow Random Early Drop", source: "Lin and Morris, ACM SIGCOMM 1997", label: Experimental }
    } disciplines {
        RedTail { name: "red+tail", params: red_tail::RedTailParams, title: "RED+Tail", source: "Jou, Tan and Baras, technical report CSHCN TR 2003-18, University of Maryland, 2003", label: Experimental }
        FqCodel { name: "fq-codel", params: fq_codel::FqCodelParams, title: "Flow Queue CoDel", source: "Hoeiland-Joergensen, McKenney, Taht, Gettys and Dumazet, RFC 8290, 2018", label: Faithful }
        FqPie { name: "fq-pie", params: fq_pie::FqPieParams, title: "Flow Queue PIE", source: "Tahiliani, draft-ietf-tsvwg-fq-pie, 2025", label: Faithful }
        FqBlue { name: "fq-blue", params: fq_blue::FqBlueParams, title: "Flow Queue BLUE", source: "Feng, Kandlur, Saha and Shin, technical report UM CSE-TR-387-99, 1999, in the queues of RFC 8290", label: Experimental }
        Sfq { name: "sfq", params: sfq::SfqParams, title: "Stochastic Fairness Queueing", source: "McKenney, IEEE INFOCOM 1990", label: Faithful }
        SfqRed { name: "sfq-red", params: sfq_red::SfqRedParams, title: "Stochastic Fairness Queueing with RED", source: "McKenney, IEEE INFOCOM 1990; Linux's sfq, 2012", label: Experimental }
        Cake { name: "cake", params: cake::CakeParams, title: "Common Applications Kept Enhanced", source: "Høiland-Jørgensen, Täht and Morton, IEEE LANMAN 2018", label: Faithful }
    }
}

/// The answer about algorithms of another kind for parameters without a method `instead` of their own.
trait NothingInstead {
    /// What they build is of the kind that the catalog says.
    fn instead(&self, _: &Link) -> Option<AnyAlgorithm> {
        None
    }
}

/// The result of [`AqmConfig::build`].
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

/// Code of a host that is compiled for the type of an algorithm; see [`AnyAlgorithm::visit`].
pub trait Visitor {
    /// The result.
    type Output;
    /// Does it with an algorithm of one FIFO.
    fn visit<A: Aqm + Send + 'static>(self, aqm: A) -> Self::Output;
    /// Does it with a discipline.
    fn visit_discipline<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Output;
}

macro_rules! of_each {
    ($self:ident.$($call:tt)+) => {
        each!($self, a => a.$($call)+)
    };
}

macro_rules! of_each_discipline {
    ($self:ident.$($call:tt)+) => {
        each_discipline!($self, d => d.$($call)+)
    };
}

// Not inline: the decisions of all algorithms would be compiled into each of its callers, which take three times as long to
// compile by that. A host that is to have one's in its own code asks for its type (`AnyAlgorithm::visit`).
impl Aqm for AnyAqm {
    forward_aqm!(of_each);
}

impl Discipline for AnyDiscipline {
    forward_discipline!(of_each_discipline);
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOG.iter().find(|e| e.name == name)
}
