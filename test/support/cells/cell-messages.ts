/** One valid message of every kind that a cell may send, and frames of them. */
import type { CallEnd, CellMessage } from '../../../src/protocol/wire.ts';

const END: CallEnd = { outcome: 'ok', cpuMs: 1.5 };
const HEADERS: [string, string][] = [
  ['content-type', 'text/plain;charset=UTF-8'],
  ['set-cookie', 'a=b'],
];

/** The call that the messages name. */
export const CALL_ID = 7;
/** Its owner. */
export const OWNER = 'inst_1';

export const CELL_MESSAGES: readonly CellMessage[] = [
  { t: 'ready' },
  { t: 'need', script: 'own@1' },
  { t: 'log', id: CALL_ID, level: 'info' },
  { t: 'response', id: CALL_ID, status: 200, headers: HEADERS },
  { t: 'response', id: CALL_ID, status: 404, headers: HEADERS, more: true },
  { t: 'response', id: CALL_ID, status: 200, headers: HEADERS, more: 'whole' },
  {
    t: 'response',
    id: CALL_ID,
    status: 500,
    headers: [],
    end: { ...END, outcome: 'exception', detail: 'It threw.' },
  },
  { t: 'chunk', id: CALL_ID, stream: 0 },
  { t: 'close', id: CALL_ID, stream: 0 },
  { t: 'close', id: CALL_ID, stream: 0, error: 'It broke off.' },
  { t: 'credit', id: CALL_ID, stream: 1, chunks: 4 },
  { t: 'drop', id: CALL_ID, stream: 1 },
  {
    ...{
      t: 'fetch',
      id: CALL_ID,
      stream: 1,
      method: 'POST',
      url: 'https://api.example/',
      redirect: 'follow',
    },
    ...{ headers: HEADERS, body: 'stream' },
  },
  { t: 'store', id: CALL_ID, operation: 1, request: '{"do":"get","key":"a","area":"installation"}' },
  { t: 'end', id: CALL_ID, end: END },
  { t: 'begun', id: CALL_ID },
  { t: 'stuck', owner: 'ins_own' },
  { t: 'probed', id: CALL_ID, end: END },
  {
    ...{ t: 'probed', id: CALL_ID, end: END },
    exports: { fetch: true, sdk: true, components: ['counter'], events: ['page_view'] },
  },
  {
    ...{ t: 'end', id: CALL_ID },
    end: {
      ...END,
      outcome: 'exceededCpu',
      limit: { name: 'callCpuMs', used: 1_001 },
      met: ['timersPerCall'],
    },
  },
  { t: 'begun', id: CALL_ID },
  { t: 'stuck', owner: OWNER },
  { t: 'stuck', owner: 'another-owner' },
  { t: 'pulse', isolates: 3, stuck: 0, heapMib: 40 },
];

/** A frame, as `FrameWriter` lays it out. */
export function frame(head: unknown, body: Uint8Array = Buffer.alloc(0)): Buffer {
  const text = Buffer.from(typeof head === 'string' ? head : JSON.stringify(head));
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32LE(text.length, 0);
  prefix.writeUInt32LE(body.length, 4);
  return Buffer.concat([prefix, text, body]);
}
