/** A text of the OpenAPI description as a doc comment, wrapped to the width of comments. */

const COLUMNS = 90;

/** Empty if there is no text. @param tags lines such as `@param name what it is` */
export function doc(text: string | undefined, tags: readonly string[] = []): string {
  const sentences = text?.replace(/\.?$/, '.').replaceAll('*/', '*\\/');
  if (sentences === undefined && tags.length === 0) return '';
  const lines = [...(sentences ? wrapped(sentences) : []), ...(sentences && tags.length > 0 ? [''] : [])];
  lines.push(...tags.flatMap((tag) => wrapped(tag).map((line, index) => (index > 0 ? `  ${line}` : line))));
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > COLUMNS) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
