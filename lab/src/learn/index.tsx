// The guided experiments.

export function LearnPanel() {
  return <p>Experiments</p>;
}
