use proptest::prelude::*;
use roxmltree::{Document, Node};

use super::*;

/// A picture that every reader of XML takes, whose coordinates are all numbers, all of them near the sheet.
fn checked(svg: &str) -> Document<'_> {
    let document = Document::parse(svg).expect("well-formed");
    let root = document.root_element();
    assert!(root.has_tag_name(("http://www.w3.org/2000/svg", "svg")));
    assert!(root.children().find(Node::is_element).is_some_and(|e| e.tag_name().name() == "title"));
    let size = |name: &str| root.attribute(name).and_then(|v| v.parse::<f64>().ok()).expect("a number");
    let (width, height) = (size("width"), size("height"));
    for element in root.descendants().filter(Node::is_element) {
        for attribute in element.attributes() {
            let value = attribute.value();
            let limit = match attribute.name() {
                "x" | "x1" | "x2" | "cx" | "width" => width,
                "y" | "y1" | "y2" | "cy" | "height" => height,
                "r" | "font-size" | "stroke-width" => 100.0,
                "d" | "points" => {
                    let numbers = value.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
                    for number in numbers.filter(|n| !n.is_empty()) {
                        let number: f64 = number.parse().unwrap_or_else(|_| panic!("{number} in {value}"));
                        assert!(number >= -20.0 && number <= width.max(height) + 20.0, "{number}");
                    }
                    continue;
                }
                _ => continue,
            };
            let number: f64 = value.parse().unwrap_or_else(|_| panic!("{}=\"{value}\"", attribute.name()));
            assert!(number >= -1.0 && number <= limit + 1.0, "{}=\"{value}\"", attribute.name());
        }
    }
    document
}

fn count(document: &Document<'_>, name: &str) -> usize {
    document.descendants().filter(|n| n.has_tag_name(name)).count()
}

fn texts(document: &Document<'_>) -> Vec<String> {
    document
        .descendants()
        .filter(|n| n.has_tag_name("text"))
        .filter_map(|n| n.text().map(str::to_string))
        .collect()
}

fn sheet() -> Sheet<'static> {
    Sheet::new("A <title> & \"more\"", "What is seen: a < b.")
}

#[test]
fn titles_and_names_are_escaped() {
    let line = SeriesLine { label: "<script>&'", x: &[0.0, 1.0], y: &[0.0, 1.0] };
    let svg = series(&sheet(), Axis::linear("t <s>"), Axis::linear("q & p"), &[line]);
    let document = checked(&svg);
    let texts = texts(&document);
    for text in ["A <title> & \"more\"", "<script>&'", "t <s>", "q & p"] {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    assert_eq!(
        document.descendants().find(|n| n.has_tag_name("desc")).unwrap().text(),
        Some("What is seen: a < b.")
    );
    assert_eq!(count(&document, "script"), 0);
}

#[test]
fn a_series_has_a_path_for_each_line() {
    let x: Vec<f64> = (0..100_000).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (x * 0.7).sin()).collect();
    let lines =
        [SeriesLine { label: "a", x: &x, y: &y }, SeriesLine { label: "b", x: &[0.0, 1e5], y: &[0.0, 0.5] }];
    let svg = series(&sheet(), Axis::linear("t"), Axis::linear("q"), &lines);
    assert_eq!(count(&checked(&svg), "path"), 2);
    assert!(svg.len() < 80_000, "{}", svg.len());
    assert_eq!(svg, series(&sheet(), Axis::linear("t"), Axis::linear("q"), &lines));
}

#[test]
fn a_bode_diagram_names_its_margins() {
    // 1 / (s (s + 1)^2): phase -180 degrees at 1 rad/s, where the gain is 1/2 (6.02 dB).
    let w: Vec<f64> = (0..=400).map(|i| 10f64.powf(-2.0 + f64::from(i) / 100.0)).collect();
    let gain: Vec<f64> = w.iter().map(|w| -20.0 * (w * (1.0 + w * w)).log10()).collect();
    let phase: Vec<f64> = w.iter().map(|w| -90.0 - 2.0 * w.atan().to_degrees()).collect();
    let response = Response {
        label: "third order",
        frequency: w,
        gain,
        phase,
        crossover: Some(Crossing { frequency: 0.6823, margin: 21.39 }),
        phase_crossover: Some(Crossing { frequency: 1.0, margin: 6.0206 }),
    };
    let none = Response { label: "none", crossover: None, phase_crossover: None, ..response.clone() };
    let svg = bode(&sheet(), &[response, none]);
    let document = checked(&svg);
    let texts = texts(&document);
    for text in ["0.682 rad/s", "21.4°", "1.00 rad/s", "6.02 dB", "−180", "frequency (rad/s)"] {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    assert_eq!(texts.iter().filter(|t| *t == "none").count(), 5);
    // Two curves twice, and two margins; marks in both diagrams and in the table's head.
    assert_eq!(
        (count(&document, "path"), count(&document, "circle"), count(&document, "polygon")),
        (6, 3, 3)
    );
}

#[test]
fn a_nyquist_diagram_is_cut_off_around_minus_one() {
    let w: Vec<f64> = (0..=600).map(|i| 10f64.powf(-4.0 + f64::from(i) / 100.0)).collect();
    // 3 / (s (s + 1)^2) crosses the real axis at -1.5.
    let of = |w: f64| {
        let scale = 3.0 / (w * (1.0 + w * w).powi(2));
        (scale * -2.0 * w, scale * (w * w - 1.0))
    };
    let svg = nyquist(&sheet(), &[Locus { label: "loop", points: w.into_iter().map(of).collect() }]);
    let document = checked(&svg);
    // The loop, both axes and the unit circle; its arrow; where it crosses the circle.
    assert_eq!(
        (count(&document, "path"), count(&document, "polygon"), count(&document, "circle")),
        (4, 1, 1)
    );
    assert!(texts(&document).iter().any(|t| t == "−1"));
}

fn example<'a>(xs: &'a [f64], ys: &'a [f64], values: &'a [f64]) -> Map<'a> {
    Map {
        x: Axis::log("N (flows)"),
        xs,
        y: Axis::linear("R (s)"),
        ys,
        value: Axis::linear("growth (1/s)"),
        values,
        missing: "no equilibrium",
        contour: Some((0.0, "border of stability")),
        spots: &[],
    }
}

#[test]
fn a_large_map_gives_a_small_file() {
    let xs: Vec<f64> = (0..1000).map(|i| 10f64.powf(f64::from(i) / 400.0)).collect();
    let ys: Vec<f64> = (0..1000).map(|i| 0.01 + 1e-3 * f64::from(i)).collect();
    let value = |x: f64, y: f64| if x < 2.0 { f64::NAN } else { y - x.log10() / 3.0 };
    let values: Vec<f64> = ys.iter().flat_map(|y| xs.iter().map(move |x| value(*x, *y))).collect();
    let svg = map(
        &sheet(),
        &Map { spots: &[Spot { label: "here", x: 30.0, y: 0.2 }], ..example(&xs, &ys, &values) },
    );
    let document = checked(&svg);
    assert!(svg.len() < 500_000, "{}", svg.len());
    // Each color once, and the contour with its rim.
    assert_eq!(count(&document, "path"), 64 + 2);
    let texts = texts(&document);
    for text in ["no equilibrium", "border of stability", "here", "growth (1/s)"] {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    // Without any sense in it, the most that a map can be.
    let noise: Vec<f64> = (0..1_000_000u64).map(|i| ((i * 2_654_435_761) % 1000) as f64 - 500.0).collect();
    assert!(map(&sheet(), &example(&xs, &ys, &noise)).len() < 6_000_000);
}

#[test]
#[should_panic(expected = "do not rise")]
fn a_map_needs_rising_places() {
    map(&sheet(), &example(&[2.0, 1.0], &[1.0], &[0.0, 0.0]));
}

#[test]
#[should_panic(expected = "has no place for 0")]
fn a_logarithmic_map_needs_positive_places() {
    map(&sheet(), &example(&[0.0, 1.0], &[1.0], &[0.0, 0.0]));
}

const MARGINS: Verdicts<'static> = Verdicts {
    measure: Axis { label: "phase margin (degrees)", log: false, range: None },
    measure_border: 0.0,
    swing: Axis { label: "swing", log: true, range: None },
    swing_border: 0.25,
};

#[test]
fn verdicts_have_a_mark_for_each_case() {
    let case =
        |measure: f64, swing: f64| Case { measure, swing, stable: measure > 0.0, settled: swing < 0.25 };
    let cases = [
        case(40.0, 0.01),
        case(f64::INFINITY, 0.0),
        case(-20.0, 0.9),
        case(10.0, 0.7),
        case(-5.0, 0.02),
        case(f64::NAN, 0.02),
    ];
    let panels = ["red", "pi", "rem", "avq"].map(|label| Cases { label, cases: &cases });
    let svg = verdicts(&sheet(), &MARGINS, &panels);
    let document = checked(&svg);
    // Per panel three circles, a triangle and a square, and once the legend.
    assert_eq!((count(&document, "circle"), count(&document, "polygon")), (3 * 4 + 2, 2 * 4 + 2));
    assert_eq!(texts(&document).iter().filter(|t| *t == "3 of 6 agree, 1 not drawn").count(), 4);
}

/// The ends of a diagram are ticks, and there is none near the largest numbers.
#[test]
fn a_phase_that_went_wrong_does_not_break_the_diagram() {
    for wrong in [9.931_303_191_045_248e99, -9.931_303_191_045_248e99, f64::MAX, f64::NAN] {
        let crossing = Some(Crossing { frequency: 1.5, margin: 10.0 });
        let response = Response {
            label: "a",
            frequency: vec![1.0, 2.0],
            gain: vec![1.0, -1.0],
            phase: vec![wrong, -90.0],
            crossover: crossing,
            phase_crossover: crossing,
        };
        checked(&bode(&sheet(), &[response]));
    }
}

/// Numbers as they come from computations that went wrong.
fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -10.0..10.0f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 1e-320,
        ]),
    ]
}

fn wild_axis() -> impl Strategy<Value = Axis<'static>> {
    (any::<bool>(), prop::option::of((wild(), wild()))).prop_map(|(log, range)| Axis {
        label: "x",
        log,
        range,
    })
}

proptest! {
    #[test]
    fn no_numbers_make_a_broken_picture(
        values in prop::collection::vec((wild(), wild(), wild()), 0..12),
        x in wild_axis(),
        y in wild_axis(),
        width in wild(),
        border in wild(),
        text in any::<String>(),
    ) {
        let a: Vec<f64> = values.iter().map(|v| v.0).collect();
        let b: Vec<f64> = values.iter().map(|v| v.1).collect();
        let c: Vec<f64> = values.iter().map(|v| v.2).collect();
        let sheet = Sheet { title: &text, description: &text, width: 500.0 + width };
        checked(&series(&sheet, x, y, &[SeriesLine { label: &text, x: &a, y: &b }]));
        checked(&nyquist(&sheet, &[Locus { label: &text, points: a.iter().copied().zip(b.iter().copied()).collect() }]));
        let crossing = Some(Crossing { frequency: border, margin: width });
        checked(&bode(&sheet, &[Response {
            label: &text, frequency: a.clone(), gain: b, phase: c, crossover: crossing, phase_crossover: crossing,
        }]));
        let cases: Vec<Case> = values.iter()
            .map(|v| Case { measure: v.0, swing: v.1, stable: v.2 > 0.0, settled: v.1 < 0.1 })
            .collect();
        let of = Verdicts { measure: x, measure_border: border, swing: y, swing_border: border };
        checked(&verdicts(&sheet, &of, &[Cases { label: &text, cases: &cases }]));
        let spots = [Spot { label: &text, x: border, y: width }];
        let grid: Vec<f64> = (1..=values.len()).map(|i| i as f64).collect();
        checked(&map(&sheet, &Map {
            x, xs: &grid, y, ys: &[7.0], value: y, values: &a,
            missing: &text, contour: Some((width, &text)), spots: &spots,
        }));
    }
}

fn compared_rows() -> Vec<ComparedRow> {
    let cell = |printed: f64, found: f64, outcome| ComparedCell {
        printed: (printed, printed),
        band: (0.9 * printed, 1.1 * printed),
        found: Some(found),
        half_width: Some(1.0),
        other: Some(printed),
        outcome,
    };
    let range = ComparedCell { printed: (40.0, 60.0), ..cell(50.0, 45.0, Outcome::Inside) };
    let row =
        |group: &str, label: &str, cells| ComparedRow { group: group.into(), label: label.into(), cells };
    vec![
        row("few <flows>", "red", vec![Some(cell(50.0, 52.0, Outcome::Agrees)), Some(range)]),
        row("few <flows>", "pi", vec![Some(cell(50.0, 80.0, Outcome::Open)), None]),
        row("many", "red", vec![None, Some(cell(100.0, 104.0, Outcome::Withheld))]),
    ]
}

/// Found numbers are marks on their bands; those that lie outside have their row's name beside them, and the legend has what
/// there is.
#[test]
fn numbers_are_compared_row_by_row() {
    let column = |title: &str, log| ComparedColumn { title: title.into(), log };
    let columns = [column("mean queue (packets)", false), column("loss (percent)", true)];
    let svg = compared(&sheet(), &columns, &compared_rows(), "ns-2");
    let document = checked(&svg);
    let texts = texts(&document);
    for text in ["printed", "its band", "found: agrees", "open", "inside", "ns-2", "few <flows>", "many"] {
        assert_eq!(texts.iter().filter(|t| *t == text).count(), 1, "{text} in {texts:?}");
    }
    assert!(!texts.iter().any(|t| t == "refuted" || t == "missing"), "{texts:?}");
    // Once at its row, and once beside the mark that lies outside.
    let times = |name: &str| texts.iter().filter(|t| *t == name).count();
    assert_eq!((times("pi"), times("red")), (2, 2));
    // What agrees lies on its band: the band's box is the only one that is as wide as it is here.
    let boxes =
        document.descendants().filter(|n| n.has_tag_name("rect") && n.attribute("fill") == Some("#d9d9d9"));
    assert_eq!(boxes.count(), 4 + 1, "a band for each number, and that of the legend");
    // Many columns go on below.
    let six: Vec<_> = (0..6).map(|i| column(&format!("c{i}"), false)).collect();
    let wide = compared(&sheet(), &six, &compared_rows(), "");
    assert!(checked(&wide).root_element().attribute("height") > document.root_element().attribute("height"));
}

#[test]
fn counts_are_pieces_of_bars() {
    let row = |label: &str, counts: [usize; 8]| Tally { label: label.into(), counts: counts.to_vec() };
    let rows = [row("one", [30, 0, 0, 0, 0, 0, 10, 0]), row("two", [0, 0, 5, 0, 0, 0, 0, 0])];
    let svg = tally(&sheet(), &Outcome::ALL.map(Outcome::kind), &rows, "numbers");
    let document = checked(&svg);
    let texts = texts(&document);
    for text in ["one", "two", "agrees", "open", "40", "30", "10", "numbers"] {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    assert!(!texts.iter().any(|t| t == "refuted"));
    let width = |fill: &str| {
        let of = |n: Node<'_, '_>| n.attribute("width").and_then(|w| w.parse::<f64>().ok());
        let boxes =
            document.descendants().filter(|n| n.has_tag_name("rect") && n.attribute("fill") == Some(fill));
        boxes.filter_map(of).fold(0.0, f64::max)
    };
    assert!((width(Outcome::Agrees.kind().color) - 3.0 * width(Outcome::Open.kind().color)).abs() < 0.5);
    assert_eq!(count(&checked(&tally(&sheet(), &[], &[], "")), "path"), 0);
}
