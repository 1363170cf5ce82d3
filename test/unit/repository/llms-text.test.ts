/**
 * `llms.txt`, the map of the documentation for language models: the pages of `docs/README.md`, with
 * its words. After a change of that page, `npx vitest run -u` on this file writes it anew.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DOCUMENTS } from '../../support/repository/documents.ts';
import { read } from '../../support/repository/sources.ts';

const HEAD = `# Annex

> A self-hosted integration runtime: it runs other people's TypeScript beside a SaaS product, each installation in a V8 isolate of its
> own, and delivers signed webhooks that are not lost.

- [README](README.md): what Annex is, five minutes to the first integration
`;

/** The rows of a table: title, path and description. */
const ROW = /^\| \[([^\]]+)\]\(([^)]+)\) \| (.*) \|$/gm;

const linesOf = (folder: string): string[] =>
  [...read(join(folder, 'README.md')).matchAll(ROW)].map(([, title, path = '', about = '']) => {
    const linked = about.replaceAll(/\]\(([^)]+)\)/g, (_, other: string) => `](${join(folder, other)})`);
    return `- [${title}](${join(folder, path)}): ${linked}`;
  });

const llmsText = (): string => `${HEAD}${[...linesOf('docs'), ...linesOf('docs/operating')].join('\n')}\n`;

test('llms.txt has each page that docs/README.md lists', async () => {
  await expect(llmsText()).toMatchFileSnapshot('../../../llms.txt');
});

test('docs/README.md lists each guide', () => {
  const listed = llmsText();
  // The index of the commands lists its pages.
  const guides = DOCUMENTS.map(({ path }) => path).filter(
    (path) => !/README\.md$|^docs\/commands\//.test(path),
  );
  expect(guides.filter((path) => !listed.includes(`(${path})`))).toEqual([]);
});
