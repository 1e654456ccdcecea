export function FormPanel() {
  return <p>Settings</p>;
}
