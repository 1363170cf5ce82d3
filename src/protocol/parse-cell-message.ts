/**
 * Parses messages of a cell, which may be hostile: any member that is missing, of a wrong type or
 * over its bound makes the whole message invalid. Knows shapes, not calls: whether the cell may
 * send the message now is checked by the host.
 */
import { CALL_ENDING_LIMITS, SOFT_LIMITS } from '../limits.ts';
import {
  type CallEnd,
  type CellMessage,
  FETCH_BODIES,
  HEADER_NAME,
  HEADER_VALUE,
  LOG_LEVELS,
  type LogLevel,
  OUTCOMES,
  type Outcome,
  REDIRECT_MODES,
  STREAM_CHUNKS_IN_FLIGHT,
  type StreamMessage,
  WIRE_BOUNDS,
} from './wire.ts';

/** Outcomes that the host alone decides; a cell that sends one is in breach. */
const HOST_OUTCOMES: readonly Outcome[] = ['loadShed', 'cellCrashed'];
const CELL_OUTCOMES: readonly unknown[] = OUTCOMES.filter((outcome) => !HOST_OUTCOMES.includes(outcome));

/**
 * Parses the decoded head of a cell's message.
 *
 * @returns the message, rebuilt from its known members alone (no extra member, no `__proto__`
 *   survives), or undefined where any part is malformed: the caller then treats the cell as
 *   compromised
 */
export function parseCellMessage(head: unknown): CellMessage | undefined {
  if (!isRecord(head)) return undefined;
  switch (head['t']) {
    case 'ready':
      return { t: 'ready' };
    case 'need':
      return isName(head['script']) ? { t: 'need', script: head['script'] } : undefined;
    case 'log': {
      const { id, level } = head;
      return isId(id) && isLevel(level) ? { t: 'log', id, level } : undefined;
    }
    case 'response':
      return parseResponse(head);
    case 'chunk':
    case 'close':
    case 'credit':
    case 'drop':
      return parseStream(head['t'], head);
    case 'fetch':
      return parseFetch(head);
    case 'store': {
      const { id, operation, request } = head;
      return isId(id) && isCount(operation) && isText(request, WIRE_BOUNDS.storeChars)
        ? { t: 'store', id, operation, request }
        : undefined;
    }
    case 'end': {
      const end = parseEnd(head['end']);
      return isId(head['id']) && end ? { t: 'end', id: head['id'], end } : undefined;
    }
    case 'begun':
      return isId(head['id']) ? { t: 'begun', id: head['id'] } : undefined;
    case 'probed':
      return parseProbed(head);
    case 'stuck':
      return isName(head['owner']) ? { t: 'stuck', owner: head['owner'] } : undefined;
    case 'pulse': {
      const { isolates, stuck, heapMib } = head;
      return isCount(isolates) && isCount(stuck) && isCount(heapMib)
        ? { t: 'pulse', isolates, stuck, heapMib }
        : undefined;
    }
    default:
      return undefined;
  }
}

function parseResponse(head: Record<string, unknown>): CellMessage | undefined {
  const { id, status, statusText, more } = head;
  if (!isId(id) || !isCount(status) || status < 200 || status > 599) return undefined;
  const headers = parseHeaders(head['headers']);
  if (headers === undefined) return undefined;
  const message = { t: 'response' as const, id, status, headers };
  // Attack: a line break, which would end the status line, and begin a header of the code's own.
  if (
    statusText !== undefined &&
    !(isText(statusText, WIRE_BOUNDS.reasonChars) && HEADER_VALUE.test(statusText))
  )
    return undefined;
  const read = statusText === undefined ? message : { ...message, statusText };
  if (more === true || more === 'whole') return { ...read, more };
  if (head['end'] === undefined) return read;
  const end = parseEnd(head['end']);
  return end && { ...read, end };
}

function parseStream(t: StreamMessage['t'], head: Record<string, unknown>): CellMessage | undefined {
  const { id, stream, error, chunks } = head;
  if (!isId(id) || !isStream(stream)) return undefined;
  switch (t) {
    case 'close':
      if (error === undefined) return { t, id, stream };
      return isText(error, WIRE_BOUNDS.detailChars) ? { t, id, stream, error } : undefined;
    case 'credit':
      return isCount(chunks) && chunks <= STREAM_CHUNKS_IN_FLIGHT ? { t, id, stream, chunks } : undefined;
    default:
      return { t, id, stream };
  }
}

function parseFetch(head: Record<string, unknown>): CellMessage | undefined {
  const { id, stream, method, url, redirect, body } = head;
  if (!isId(id) || !isStream(stream) || stream === 0) return undefined;
  const headers = parseHeaders(head['headers']);
  if (headers === undefined || !isText(url, WIRE_BOUNDS.urlChars)) return undefined;
  if (typeof method !== 'string' || !HEADER_NAME.test(method)) return undefined;
  const mode = REDIRECT_MODES.find((known) => known === redirect);
  const form = FETCH_BODIES.find((known) => known === body);
  if (mode === undefined || form === undefined) return undefined;
  return { t: 'fetch', id, stream, method, url, redirect: mode, headers, body: form };
}

function parseHeaders(headers: unknown): [string, string][] | undefined {
  if (!Array.isArray(headers) || headers.length > WIRE_BOUNDS.headers) return undefined;
  const pairs: [string, string][] = [];
  let bytes = 0;
  for (const pair of headers) {
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [name, value] = pair as [unknown, unknown];
    if (typeof name !== 'string' || typeof value !== 'string') return undefined;
    // Attack: a compromised cell puts a line break into a header, to add headers or a body of its
    // own.
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) return undefined;
    bytes += name.length + value.length;
    pairs.push([name, value]);
  }
  return bytes > WIRE_BOUNDS.headerBytes ? undefined : pairs;
}

function parseProbed(head: Record<string, unknown>): CellMessage | undefined {
  const end = parseEnd(head['end']);
  if (!isId(head['id']) || !end) return undefined;
  if (head['exports'] === undefined) return { t: 'probed', id: head['id'], end };
  const exports = head['exports'];
  if (!isRecord(exports)) return undefined;
  const { fetch, sdk, components, events } = exports;
  if (typeof fetch !== 'boolean' || typeof sdk !== 'boolean') return undefined;
  if (!isNames(components) || !isNames(events)) return undefined;
  return { t: 'probed', id: head['id'], end, exports: { fetch, sdk, components, events } };
}

function parseEnd(value: unknown): CallEnd | undefined {
  if (!isRecord(value)) return undefined;
  const { outcome, cpuMs, detail } = value;
  if (!CELL_OUTCOMES.includes(outcome)) return undefined;
  // Attack: a forged figure spoils the operator's counters for good.
  if (typeof cpuMs !== 'number' || !(cpuMs >= 0 && cpuMs <= WIRE_BOUNDS.cpuMs)) return undefined;
  const end: CallEnd = { outcome: outcome as Outcome, cpuMs };
  if (detail !== undefined) {
    if (!isText(detail, WIRE_BOUNDS.detailChars)) return undefined;
    end.detail = detail;
  }
  return withLimits(end, value['limit'], value['met']);
}

function withLimits(end: CallEnd, limit: unknown, met: unknown): CallEnd | undefined {
  if (limit !== undefined) {
    if (!isRecord(limit)) return undefined;
    const { used } = limit;
    const name = CALL_ENDING_LIMITS.find((known) => known === limit['name']);
    if (name === undefined) return undefined;
    if (used === undefined) end.limit = { name };
    else if (isCount(used) && used <= WIRE_BOUNDS.used) end.limit = { name, used };
    else return undefined;
  }
  if (met === undefined) return end;
  if (!Array.isArray(met) || met.length > SOFT_LIMITS.length) return undefined;
  // Filtered from the known list, so that each name is there once, however often it was sent.
  end.met = SOFT_LIMITS.filter((known) => met.includes(known));
  return end.met.length === met.length ? end : undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isId = isCount;
const isStream = (value: unknown): value is number => isCount(value) && value < WIRE_BOUNDS.streams;
const isText = (value: unknown, charsMax: number): value is string =>
  typeof value === 'string' && value.length <= charsMax;
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= WIRE_BOUNDS.nameChars;
const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= WIRE_BOUNDS.names && value.every(isName);
const isLevel = (value: unknown): value is LogLevel => LOG_LEVELS.includes(value as LogLevel);
