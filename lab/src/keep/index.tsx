export function KeepMenu() {
  return null;
}
