/**
 * The flow of messages from an isolate to its debugger: by credit, bounded, and begun anew with the
 * next debugger. A real isolate; the test takes the place of the host.
 */
import ivm from 'isolated-vm';
import { afterEach, expect, test } from 'vitest';
import { IsolateCalls } from '../../../src/cell/calls/isolate-calls.ts';
import type { Engine } from '../../../src/cell/engine.ts';
import { CellInspector } from '../../../src/cell/inspection/cell-inspector.ts';
import { BlankIsolates } from '../../../src/cell/isolates/blank-isolates.ts';
import { CpuAndWallLimits, type LimitedIsolate } from '../../../src/cell/isolates/cpu-and-wall-limits.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { type CellInspection, INSPECTION_BOUNDS } from '../../../src/protocol/inspection.ts';
import { cellSources } from '../../support/built-once.ts';

const MIB = 1024 * 1024;
const blanks = new BlankIsolates({
  engine: ivm as unknown as Engine,
  sources: (await cellSources()).isolate,
  limits: { ...DEFAULT_LIMITS, warmIsolatesPerCell: 0 },
  inspectable: true,
  onCatastrophe: () => undefined,
});
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** One isolate that has no calls, and all that the cell sends about it. */
async function inspected() {
  const sent: [message: CellInspection, bytes: number, text: string][] = [];
  const inspector = new CellInspector((message, body = Buffer.alloc(0)) =>
    sent.push([message, body.byteLength, body.toString('utf8', 0, 200)]),
  );
  const blank = await blanks.take(DEFAULT_LIMITS.isolateHeapMib, false);
  const limited: LimitedIsolate = {
    ...{ calls: new IsolateCalls(), disposed: false, loading: false, entries: undefined },
    ...{ abandon: () => undefined, end: () => undefined },
  };
  const isolate = inspector.isolate({
    calls: limited.calls,
    checks: new CpuAndWallLimits(limited, { lateMs: 0 }),
  });
  isolate.open(blank, { key: 'ins_1/own@1', script: 'own@1' });
  ends.push(() => {
    isolate.close();
    blank.dispose();
  });
  const [[opened] = []] = sent;
  const target = opened?.t === 'inspectable' ? opened.target : 0;
  inspector.receive({ t: 'inspect', target }, Buffer.from('{"id":1000,"method":"Runtime.enable"}'));
  // The context of the integration is the last one that is reported, before the answer.
  await expect.poll(() => sent.some(([, , text]) => text.startsWith('{"id":1000,'))).toBe(true);
  const contexts = sent.flatMap(([, , text]) => /"context":\{"id":(\d+)/.exec(text)?.[1] ?? []);
  const contextId = Number(contexts.at(-1));
  const before = sent.length;
  const request = (id: number, expression: string) => {
    const params = { expression, contextId, returnByValue: true };
    const text = JSON.stringify({ id, method: 'Runtime.evaluate', params });
    inspector.receive({ t: 'inspect', target }, Buffer.from(text));
  };
  const count = (kind: CellInspection['t']) => sent.slice(before).filter(([{ t }]) => t === kind).length;
  const bytes = () => sent.reduce((sum, [{ t }, length]) => (t === 'inspected' ? sum + length : sum), 0);
  return { inspector, target, sent, request, count, bytes };
}

test('without credit a cell sends no more than its bound, and gives a debugger up that does not read', async () => {
  const { inspector, target, sent, request, count, bytes } = await inspected();
  for (let id = 1; id <= 100; id++) request(id, `'x'.repeat(${MIB})`);
  await expect.poll(() => count('inspect-lost')).toBe(1);
  expect(bytes()).toBeLessThan(INSPECTION_BOUNDS.bytesInFlight + 2 * MIB);
  inspector.receive({ t: 'inspect-end', target }, Buffer.alloc(0));
  await expect.poll(() => count('inspect-ended')).toBe(1);
  inspector.receive({ t: 'inspect-credit', bytes: bytes() }, Buffer.alloc(0));
  const before = sent.length;
  request(101, '6 * 7');
  await expect.poll(() => sent.length).toBe(before + 1);
  expect(sent.at(-1)?.[2]).toContain('"id":101,"result":{"result":{"type":"number","value":42');
});

test('an answer that is larger than a message may be is an error', async () => {
  const { sent, request, count } = await inspected();
  request(1, `'x'.repeat(${INSPECTION_BOUNDS.messageBytes})`);
  await expect.poll(() => count('inspected')).toBe(1);
  expect(sent.at(-1)?.[2]).toContain('The answer is larger than');
});

test('what is no request of the protocol does not reach the isolate', async () => {
  const { inspector, target, request, count } = await inspected();
  for (const text of ['', '{}', '[]', '{"method":"Debugger.enable","id":1}'])
    inspector.receive({ t: 'inspect', target }, Buffer.from(text));
  request(1, '1');
  await expect.poll(() => count('inspected')).toBe(1);
});
