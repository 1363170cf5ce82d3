/** Doc comments of the generated types of the SDK: one line, or several of at most 100 columns. */

const COLUMNS = 100;

/**
 * @param example code, on a line of its own below the text
 * @returns the comment with its line end; empty for an empty text
 */
export function docComment(text: string, indent: string, example?: string): string {
  if (text === '') return '';
  const line = `${indent}/** ${text} */`;
  if (line.length <= COLUMNS && example === undefined) return `${line}\n`;
  const code = example === undefined ? '' : exampleText(example, `${indent} * `);
  return `${indent}/**\n${wrapped(text, `${indent} * `)}${code}${indent} */\n`;
}

function exampleText(example: string, prefix: string): string {
  const line = `${prefix}@example ${example}`;
  // Code that is too wide for the line of its tag stands below, and is broken between attributes.
  const lines = line.length <= COLUMNS ? [line] : [`${prefix}@example`, ...broken(example, prefix)];
  return [prefix.trimEnd(), ...lines].map((each) => `${each}\n`).join('');
}

/** Code as lines, each as long as the columns allow. It is broken at spaces outside of texts. */
function broken(code: string, prefix: string): string[] {
  const lines: string[] = [];
  for (const part of code.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []) {
    const last = lines.at(-1);
    const extended = `${last} ${part}`;
    if (last === undefined || extended.length > COLUMNS) lines.push(`${prefix}${last ? '  ' : ''}${part}`);
    else lines[lines.length - 1] = extended;
  }
  return lines;
}

function wrapped(text: string, prefix: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    const extended = `${last} ${word}`;
    if (last === undefined || extended.length > COLUMNS) lines.push(`${prefix}${word}`);
    else lines[lines.length - 1] = extended;
  }
  return lines.map((line) => `${line}\n`).join('');
}
