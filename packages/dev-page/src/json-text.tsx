/** A value as JSON, folded until the author opens it. */

/** Attack: a value that is too large for a page to lay out. */
const CHARS_MAX = 50_000;

export function JsonText({ name, value }: { name: string; value: unknown }) {
  const text = JSON.stringify(value, undefined, 2) ?? 'undefined';
  return (
    <details>
      <summary>{name}</summary>
      <pre>{text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text}</pre>
    </details>
  );
}
