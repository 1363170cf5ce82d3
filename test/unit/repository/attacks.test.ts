/**
 * `docs/attacks.md`, the page of all attacks, is made of `fixtures/hostile/`: a row for each kind
 * of attack there, and one for each attack that a test makes without a folder.
 *
 * `npx vitest run test/unit/repository/attacks.test.ts -u` writes it.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import {
  type AttackKind,
  type AttackRow,
  readAttacks,
  readAttacksPage,
} from '../../support/hostile/hostile-attack.ts';
import { DOCUMENTS } from '../../support/repository/documents.ts';
import { filesIn, ROOT, read } from '../../support/repository/sources.ts';

const PAGE = 'docs/attacks.md';
const ATTACKS = readAttacks();
const { head, sections } = readAttacksPage();
const attackNames = new Set(ATTACKS.map(({ name }) => name));
const testNames = new Set(filesIn('test').map((path) => basename(path)));

const isKind = (kind: AttackKind | string): kind is AttackKind => typeof kind === 'object';
/** The attacks of a kind: the one that declares it first. */
const namesOf = (name: string) => [
  name,
  ...ATTACKS.filter(({ kind }) => kind === name).map((attack) => attack.name),
];

function rowText(row: AttackRow, names: readonly string[]): string {
  const attacks = names.map((name) => `[\`${name}\`](../fixtures/hostile/${name}/)`).join(', ');
  const tests = (row['shown by'] ?? []).map((name) => `\`${name}\``).join(', ');
  return `| ${row.attack} | ${row['stopped by']} | ${[attacks, tests].filter((text) => text !== '').join('; ')} |`;
}

function sectionText({ title, intro, rows = [] }: (typeof sections)[number]): string {
  const kinds = ATTACKS.flatMap(({ name, kind }) =>
    isKind(kind) && kind.section === title ? [rowText(kind, namesOf(name))] : [],
  );
  const lines = ['| attack | what stops it | shown by |', '|---|---|---|', ...kinds];
  const text = [...lines, ...rows.map((row) => rowText(row, []))].join('\n');
  return [`## ${title}`, ...(intro === undefined ? [] : [intro]), text].join('\n\n');
}

const page = `${[head.trim(), ...sections.map(sectionText)].join('\n\n')}\n`;

/** Names in code font, one each. */
const namesIn = (text: string): string[] => [
  ...new Set(
    [...text.replace(/^```$.*?^```$/gms, '').matchAll(/`([^`]+)`/g)].flatMap(([, name = '']) =>
      name.split(/\s+/),
    ),
  ),
];

describe(PAGE, () => {
  test('is that of the attacks', async () => {
    await expect(page).toMatchFileSnapshot(`${ROOT}${PAGE}`);
  });

  test('has a row for every attack, in a section that exists', () => {
    const titles = sections.map(({ title }) => title);
    const lost = ATTACKS.filter(({ kind }) =>
      isKind(kind)
        ? !titles.includes(kind.section)
        : !ATTACKS.some((other) => other.name === kind && isKind(other.kind)),
    );
    expect(lost.map(({ name }) => name)).toEqual([]);
  });

  test('names every test of a defence', () => {
    const walls = /^test\/(security|service\/(listeners|egress))\//;
    const cited = filesIn('test')
      .filter((path) => walls.test(path) && path.endsWith('.test.ts'))
      .map((path) => basename(path));
    const names = namesIn(page);
    expect(cited.filter((name) => !names.includes(name))).toEqual([]);
  });
});

test.each([PAGE, 'SECURITY.md'])('%s names only files, limits and words that exist', (path) => {
  const others = DOCUMENTS.filter((document) => document.path !== PAGE);
  const words = others.map(({ text }) => text).join('\n');
  const isWord = (name: string) => new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-])`).test(words);
  const isFile = (name: string) =>
    /\.(ts|js|json|yaml|md)$|\/$/.test(name) &&
    (testNames.has(name) || ['', 'src', 'src/host', 'test'].some((at) => existsSync(join(ROOT, at, name))));
  const known = (name: string) =>
    attackNames.has(name) || isFile(name) || name in DEFAULT_LIMITS || isWord(name);
  expect(namesIn(path === PAGE ? page : read(path)).filter((name) => !known(name))).toEqual([]);
});
