/**
 * The documentation as text: the README, the guides in `docs/` and the pages for operators, for the
 * tests that compare them with the code.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Document {
  /** Path from the project's root. */
  readonly path: string;
  readonly text: string;
}

/** Pages of a folder; its other files are programs. */
const pagesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

const paths = ['README.md', ...['docs', 'docs/how-to', 'docs/operating', 'docs/commands'].flatMap(pagesIn)];

export const DOCUMENTS: readonly Document[] = paths.map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
}));

/** All pages as one text. */
export const DOCUMENTATION = DOCUMENTS.map(({ text }) => text).join('\n');

/** The text from one heading to the next of its rank; empty if there is none. */
export function section(heading: string): string {
  const rank = heading.slice(0, heading.indexOf(' '));
  const begin = DOCUMENTATION.indexOf(`\n${heading}\n`);
  if (begin < 0) return '';
  const rest = DOCUMENTATION.slice(begin + 1);
  const end = rest.search(new RegExp(`\\n${rank} (?!${RegExp.escape(heading.slice(rank.length + 1))}\\n)`));
  return end < 0 ? rest : rest.slice(0, end);
}

/** Anchors of the headings of a text, as GitHub makes them. */
export const anchors = (text: string): string[] =>
  [...text.replace(/^```.*?^```/gms, '').matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
