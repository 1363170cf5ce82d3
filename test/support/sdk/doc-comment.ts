/** Doc comments of the generated types of the SDK: one line, or several of at most 100 columns. */

const COLUMNS = 100;

/** @returns the comment with its line end; empty for an empty text */
export function docComment(text: string, indent: string): string {
  if (text === '') return '';
  const line = `${indent}/** ${text} */`;
  if (line.length <= COLUMNS) return `${line}\n`;
  return `${indent}/**\n${wrapped(text, `${indent} * `)}${indent} */\n`;
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
