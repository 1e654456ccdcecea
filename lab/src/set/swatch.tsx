/** The color of an algorithm. */
export function Swatch({ color }: { color: string }) {
  return (
    <svg class="color" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" fill={color} />
    </svg>
  );
}
