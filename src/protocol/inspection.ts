/**
 * Inspection: what crosses the pipe between a host and a cell that was started for inspection, so
 * that a debugger can stop in an isolate.
 *
 * Only `annex dev --inspect` starts such cells. In all others, neither side knows these messages:
 * the host takes one for a malformed message, and a cell ends. A frame from a cell is hostile input
 * here too: `parseCellInspection` accepts only these shapes within these bounds.
 */

/** Messages of the host to a cell. `target` is the number that the cell gave the isolate. */
export type HostInspection =
  /** Bytes: one message of the DevTools protocol, for the isolate. */
  | { t: 'inspect'; target: number }
  /** The debugger has left: the isolate goes on, without breakpoints. */
  | { t: 'inspect-end'; target: number }
  /** So many more bytes of messages have reached their debuggers. */
  | { t: 'inspect-credit'; bytes: number };

/** Messages of a cell to the host. */
export type CellInspection =
  /** An isolate can be inspected from now on. */
  | { t: 'inspectable'; target: number; isolate: string; script: string }
  /** Bytes: one message of the DevTools protocol, from the isolate. */
  | { t: 'inspected'; target: number }
  /** So many bytes wait for this debugger that it is given up: the host disconnects it. */
  | { t: 'inspect-lost'; target: number }
  /** In answer to `inspect-end`: another debugger may come. */
  | { t: 'inspect-ended'; target: number }
  /** The isolate has been disposed of. */
  | { t: 'inspect-gone'; target: number };

export const INSPECTION_BOUNDS = {
  /** One message, in either direction. */
  messageBytes: 16 * 1024 * 1024,
  /** A cell sends nothing while so many bytes have not reached their debuggers. */
  bytesInFlight: 16 * 1024 * 1024,
  /** Bytes that may wait in a cell until then. */
  bytesWaiting: 64 * 1024 * 1024,
  /** Requests of one debugger without a response; it waits when there are more. */
  requests: 256,
  /** Isolates of one cell that can be inspected at once. */
  targets: 4_096,
  nameChars: 256,
} as const;

/** Ids of requests from here on are the cell's own; the host numbers below them. */
export const FIRST_OWN_REQUEST = 2 ** 30;

/**
 * Parses the decoded head of a cell's message.
 *
 * @returns the message, rebuilt from its known members; undefined where any part is malformed
 */
export function parseCellInspection(head: unknown): CellInspection | undefined {
  if (typeof head !== 'object' || head === null) return undefined;
  const { t, target, isolate, script } = head as Record<string, unknown>;
  if (!Number.isSafeInteger(target) || (target as number) < 0) return undefined;
  const of = { target: target as number };
  switch (t) {
    case 'inspectable':
      return isName(isolate) && isName(script) ? { t, ...of, isolate, script } : undefined;
    case 'inspected':
    case 'inspect-lost':
    case 'inspect-ended':
    case 'inspect-gone':
      return { t, ...of };
    default:
      return undefined;
  }
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= INSPECTION_BOUNDS.nameChars;
