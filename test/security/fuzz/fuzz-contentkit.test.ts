/**
 * Random ContentKit: the JSON Schema that is served describes what the host's check accepts, and no
 * input breaks the reader.
 */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { CONTENTKIT_SCHEMA } from '../../../src/model/contentkit/contentkit.ts';
import { readRendering } from '../../../src/model/contentkit/contentkit-answer.ts';
import { checkDrawing } from '../../../src/model/contentkit/contentkit-check.ts';
import { fuzz } from '../../support/fuzz/fuzz.ts';
import { mutateJson } from '../../support/fuzz/mutations.ts';

const press = { action: 'go', id: 5 };
const button = { type: 'button', label: { $state: 'a' }, onPress: press, icon: 'star' };
const text = { type: 'text', style: 'bold', children: ['a', { type: 'text', children: ['b'] }] };
const DRAWINGS = [
  {
    type: 'block',
    controls: [{ label: 'a', onPress: { action: '@ui.url.open', url: 'https://example.com' } }],
    children: [
      { type: 'vstack', align: 'center', children: [text, button] },
      { type: 'card', title: 'a', hint: text, icon: 'lock', buttons: [button], children: [] },
      { type: 'image', source: { url: 'https://example.com/a.png' }, aspectRatio: 1.5 },
      { type: 'webframe', source: { url: 'https://example.com' }, data: { a: 'b', c: { $state: 'd' } } },
      { type: 'codeblock', content: 'a', lineNumbers: 1, header: [text], buttons: [button] },
    ],
  },
  {
    type: 'modal',
    size: 'medium',
    submit: { ...button, onPress: { action: '@ui.modal.close', returnValue: {} } },
    children: [
      {
        type: 'input',
        label: 'a',
        hint: ['b', text],
        element: { type: 'textinput', state: 'a', inputType: 'email' },
      },
      {
        type: 'input',
        label: 'a',
        element: { type: 'select', state: 'b', options: [{ id: 'a', label: 'b' }] },
      },
      {
        type: 'select',
        state: 'b',
        options: { url: { host: 'a.example', pathname: '/b', query: { c: 'd', e: { $state: 'f' } } } },
      },
      { type: 'checkbox', state: 'a', value: 'b', confirm: { title: 'a', text: 'b', confirm: 'c' } },
      { type: 'hint', children: ['a', { type: 'link', target: { url: 'mailto:a@b' }, children: ['c'] }] },
    ],
  },
  {
    type: 'configuration',
    children: [
      {
        type: 'stepper',
        ...{ activeStep: 'a', onStepChange: press, onComplete: press },
        children: [{ type: 'step', id: 'a', title: 'b', next: button, children: [{ type: 'divider' }] }],
      },
    ],
  },
];
const isDescribed = new Ajv2020({ strict: false }).compile(CONTENTKIT_SCHEMA);

test('accepted ContentKit conforms to the schema, and is accepted again unchanged', async () => {
  let taken = 0;
  let refused = 0;
  await fuzz('drawings', {
    make: (random) => JSON.stringify(mutateJson(random, DRAWINGS)) ?? 'null',
    check: (json) => {
      const drawing: unknown = JSON.parse(json);
      const checked = checkDrawing(drawing);
      if (!checked.ok) {
        refused += 1;
        assert(checked.problems.length > 0 && checked.problems.length <= 20);
        // No schema can express the bounds on depth and size.
        const isBeyond = checked.problems.some(({ message }) => /nested deeper|one too many/.test(message));
        assert(isBeyond || !isDescribed(drawing), 'described, and refused');
        return;
      }
      taken += 1;
      assert(isDescribed(checked.element), JSON.stringify(isDescribed.errors));
      const { element } = checked;
      assert.deepEqual(checkDrawing(element), { ok: true, element, warnings: { listed: [], count: 0 } });
    },
  });
  expect([taken > 0, refused > 0]).toEqual([true, true]);
});

const ANSWERS = [
  { type: 'element', state: { a: 1 }, props: {}, element: DRAWINGS[0] },
  { type: 'complete', returnValue: { a: [1] } },
];

test('a parsed answer has its known members, and no others', async () => {
  await fuzz('drawings', {
    make: (random) => JSON.stringify(mutateJson(random, ANSWERS)) ?? 'null',
    check: async (json) => {
      const read = await readRendering(Buffer.from(json));
      if (!read.ok) return assert(read.problems.length > 0);
      const { type, ...members } = read.rendering;
      const known = type === 'element' ? ['element', 'props', 'state'] : ['returnValue'];
      assert(type === 'element' || type === 'complete');
      assert(Object.keys(members).every((key) => known.includes(key)));
    },
  });
});
