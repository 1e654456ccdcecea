//! d
use quell_identify::*;
fn main() {
    let f = quell_capture::transfers(std::fs::File::open(std::env::args().nth(1).unwrap()).unwrap(), &[])
        .unwrap();
    let o = Observed::of(&f, 60.0, None, None).unwrap();
    let v: f64 = std::env::args().nth(3).unwrap().parse().unwrap();
    let d = Discipline::ALL.into_iter().find(|d| d.name() == std::env::args().nth(2).unwrap()).unwrap();
    println!("{:?} {:?}", o.flows, o.rate_bps);
    println!("{}", d.scenario(v, &o, "cubic", 1));
    let s: Vec<Statistics> =
        (1..5).map(|seed| Run { discipline: d, value: v, seed }.statistics(&o, "cubic").unwrap()).collect();
    for i in 0..COUNT {
        println!(
            "{:40} {:8.3}   {:8.3} {:8.3} {:8.3} {:8.3}",
            NAMES[i], o.statistics.0[i], s[0].0[i], s[1].0[i], s[2].0[i], s[3].0[i]
        );
    }
}
