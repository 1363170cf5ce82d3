/**
 * `llms.txt`, the map of the documentation for language models: the pages of the README's table,
 * with its words. After a change of that table, `npx vitest run -u` on this file writes it anew.
 */
import { expect, test } from 'vitest';
import { DOCUMENTS } from '../../support/repository/documents.ts';
import { read } from '../../support/repository/sources.ts';

const HEAD = `# Annex

> A self-hosted integration runtime: it runs other people's TypeScript beside a SaaS product, each installation in a V8 isolate of its
> own, and delivers signed webhooks that are not lost.

- [README](README.md): what Annex is, five minutes to the first integration, tokens, the SDK
`;

/** The rows of a table: title, path and description. */
const ROW = /^\| \[([^\]]+)\]\(([^)]+)\) \| (.*) \|$/gm;

function llmsText(): string {
  const table = read('README.md').split('\n## Read on\n')[1]?.split('\n## ')[0] ?? '';
  const lines = [...table.matchAll(ROW)].map(([, title, path, about]) => `- [${title}](${path}): ${about}`);
  return `${HEAD}${lines.join('\n')}\n`;
}

test('llms.txt has each page that the README lists', async () => {
  await expect(llmsText()).toMatchFileSnapshot('../../../llms.txt');
});

test('the README lists each guide', () => {
  const linked = llmsText();
  const guides = DOCUMENTS.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
  expect(guides.filter((path) => !linked.includes(`(${path})`))).toEqual([]);
});
