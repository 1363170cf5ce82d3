/**
 * The catalogue as types: the committed file is generated from the schema, and JSX is type-checked
 * by it.
 */
import { expect, test } from 'vitest';
import { ELEMENTS, ROOTS } from '../../../src/model/contentkit/contentkit.ts';
import { AuthorFolder } from '../../support/sdk/author.ts';
import { elementExample, VALUE_EXAMPLES } from '../../support/sdk/contentkit-examples.ts';
import { contentKitTypes } from '../../support/sdk/contentkit-types.ts';

test('the types of the SDK are those of the schema', async () => {
  for (const [file, text] of contentKitTypes())
    await expect(text).toMatchFileSnapshot(`../../../sandbox/sdk/${file}`);
});

const MANIFEST = `name: drawn
title: Drawn
description: For a test.
organization: acme
visibility: private
scopes: []
script: index.tsx
`;

/** A component that renders this. */
const drawing = (jsx: string): string => `
import { type ComponentChildren, createComponent, createIntegration, type ElementChildren } from '@annex/sdk';
const Field = ({ label, state }: { label: string; state: string }) => (
  <input label={label} element={<textinput state={state} />} />
);
const Framed = ({ children }: { children?: ElementChildren }) => <card>{children}</card>;
const press = { action: 'go', id: 5 };
const bound = { $state: 'name' };
export default createIntegration({
  components: [createComponent<{}, { count: number; names: string[] }>({
    componentId: 'c',
    initialState: { count: 0, names: [] },
    async render(element) {
      const { count, names } = element.state;
      return ${jsx};
    },
  })],
});
export type Used = ComponentChildren;
export const used = [Field, Framed, press, bound];
export const also = (count: number, names: string[]) => [count, names];
`;

const block = (inside: string): string => `<block>${inside}</block>`;

/** The examples of all attributes that the doc comments show, each element with all of its own. */
const EXAMPLES = [
  ...Object.keys(ELEMENTS).map((tag) => {
    const example = elementExample(tag, 'all');
    if (ROOTS.some((root) => root === tag)) return example;
    return block(
      tag === 'step'
        ? `<stepper activeStep="a" onStepChange={press} onComplete={press}>${example}</stepper>`
        : example,
    );
  }),
  ...Object.values(VALUE_EXAMPLES).map((example) =>
    example.startsWith('<block') ? example : block(example),
  ),
];

const GOOD = [
  ...EXAMPLES,
  `<block controls={[{ label: 'Edit', icon: 'edit', onPress: press }]}><text>{count} of {names.length}</text></block>`,
  `<modal title="T" size="xlarge" submit={<button label="OK" onPress={{ action: '@ui.modal.close', returnValue: {} }} />}><divider size="small" /></modal>`,
  `<configuration><stepper activeStep="a" onStepChange={press} onComplete={press}><step id="a" title="A"><Field label="L" state="s" /></step></stepper></configuration>`,
  block(`{names.map((name) => <text style="bold">{name}</text>)}{count > 1 && <divider />}{null}`),
  block(`<><Framed><Field label="a" state="b" /></Framed><text>a <text style="code">b</text></text></>`),
  block(`<hint>See <link target={{ url: 'https://example.com' }}>this</link></hint>`),
  block(
    `<button label={element.dynamicState('label')} disabled={bound} onPress={{ action: '@ui.url.open', url: bound }} icon="star" />`,
  ),
  block(`<text>See <link target={{ url: 'https://example.com' }}>this</link></text>`),
  block(
    `<input label="L" error={count > 1 ? 'Too many' : undefined} element={<textinput state="s" placeholder={undefined} />} />`,
  ),
  block(
    `<card title="T" icon="star" hint={['a', count, <text>b</text>]} /><card hint="a" icon={<image source={{ url: 'https://example.com' }} aspectRatio={1} />} />`,
  ),
  block(
    `<select state="s" options={{ url: { host: 'example.com', pathname: '/a', query: { b: 'c', d: element.dynamicState('d') } } }} />`,
  ),
  `<modal subtitle={<text>a</text>}><button onPress={{ action: '@ui.modal.close', more: count }} /></modal>`,
  block(`<image source={{ url: 'https://example.com' }} aspectRatio={2} /><markdown content="# A" />`),
  block(
    `<select state="s" options={[{ id: 'a', label: 'A' }]} multiple initialValue={['a']} /><select state="s" options={{ url: 'https://example.com' }} />`,
  ),
  block(
    `<codeblock content="a" header={<text>a</text>} footer={[<text>a</text>]} buttons={[count > 1 && <button onPress={press} />]} />`,
  ),
  block(
    `<webframe source={{ url: 'https://example.com' }} data={{ a: 'b', c: element.dynamicState('c') }} />`,
  ),
  block(
    `<radio state="a" value="b" /><checkbox state="a" value={1} confirm={{ title: 'a', text: 'b', confirm: 'c' }} /><switch state="s" initialValue />`,
  ),
];

const BAD: readonly [jsx: string, complaint: RegExp][] = [
  [block('<buton />'), /'buton' does not exist/],
  [block('<button label="a" />'), /'onPress' is missing/],
  [block('<button onpress={press} />'), /onpress/],
  [block('<button onPress="go" />'), /not assignable/],
  [block('<button onPress={press} style="huge" />'), /"huge"' is not assignable/],
  [block('<button onPress={press} icon="tick" />'), /"tick"' is not assignable/],
  [block('<button onPress={press}>Go</button>'), /children/],
  [block('<divider size={5} />'), /not assignable/],
  [block('<text style="underlined">a</text>'), /not assignable/],
  [block('naked'), /text/],
  [block('{count && <divider />}'), /not assignable/],
  ['<block />', /'children' is missing/],
  [block('<link>a</link>'), /'target' is missing/],
  [block('<image source="https://example.com" aspectRatio={1} />'), /not assignable/],
  [block('<input label="a" />'), /'element' is missing/],
  [block('<textinput state="a" multiline="yes" />'), /not assignable/],
  [block('<select state="a" />'), /'options' is missing/],
  [block('<select state="a" options={[{ id: 1, label: "a" }]} />'), /not assignable/],
  [block('<checkbox state="a" />'), /'value' is missing/],
  [block('<webframe />'), /'source' is missing/],
  [block('<markdown>a</markdown>'), /'children' does not exist|content/],
  [block('<card buttons="a" />'), /not assignable/],
  [block('<Field label="a" />'), /'state' is missing/],
  [block('<Framed>naked</Framed>'), /text/],
  ['names', /not assignable/],
];

test('JSX that agrees with the catalogue compiles, and other JSX is refused at its position', async () => {
  const files = [...GOOD, ...BAD.map(([jsx]) => jsx)].map(
    (jsx, index) => [`use-${index}.tsx`, drawing(jsx)] as const,
  );
  const folder = await AuthorFolder.make({
    'platform-manifest.yaml': MANIFEST,
    ...Object.fromEntries(files),
  });
  expect(await folder.types()).toMatchObject({ code: 0 });
  const findings = await folder.compile();
  expect(findings.filter(({ file }) => !file.startsWith('use-'))).toEqual([]);
  const found = files.map(([name]) => findings.find(({ file }) => file === name)?.message);
  for (const [index, jsx] of GOOD.entries()) expect([jsx, found[index]]).toEqual([jsx, undefined]);
  for (const [index, [jsx, complaint]] of BAD.entries())
    expect(found[GOOD.length + index] ?? 'compiles', jsx).toMatch(complaint);
});
