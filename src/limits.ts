/**
 * Every bound of the system, with its default (REFERENCE section 8) and its unit last in the name.
 *
 * Pure data: shared by the host and the cells. What enforces a limit imports it from here or is handed a `Limits`;
 * nothing else in the code may hold a bound of its own that an operator would want to change.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_LIMITS = {
  /** Body of one request to a public endpoint. */
  requestBodyBytes: 10 * MIB,
  /** Bodies of requests and answers that the host holds at once, of all endpoints together; beyond this, 503 with `Retry-After`. */
  bufferedBodyBytes: 256 * MIB,
  /** Body of one answer of an integration. */
  responseBodyBytes: 10 * MIB,
  /** `event` or `environment` part of an envelope. */
  envelopePartBytes: 1 * MIB,
  /** One bundled script. */
  scriptBytes: 5 * MIB,
  /** All bytes of one upload, unpacked. */
  uploadBytes: 20 * MIB,
  /** Files of one upload. */
  uploadFiles: 2_000,
  /** Time esbuild may take over one upload. */
  bundleMs: 20_000,
  /** V8 heap of one isolate. */
  isolateHeapMib: 128,
  /** CPU of one call, over all its entries into the isolate. */
  callCpuMs: 1_000,
  /** Wall time of one call, `waitUntil` included. */
  callWallMs: 30_000,
  /** Time from the start of a call to its response. */
  firstByteMs: 25_000,
  /** Outbound fetches of one call. */
  fetchesPerCall: 50,
  /** Outbound fetches of one call that wait for their answer at once; further ones queue. */
  fetchesInFlightPerCall: 6,
  /** Body of one outbound fetch. */
  fetchRequestBodyBytes: 10 * MIB,
  /** Body of one answer to a fetch, after decompression. */
  fetchResponseBodyBytes: 10 * MIB,
  /** Redirects that one fetch follows. */
  fetchRedirects: 5,
  /** Whole time of one fetch, from the look-up of its host to the last byte of its answer. */
  fetchMs: 30_000,
  /** Time to make one outbound connection: look-up, TCP and TLS. */
  fetchConnectMs: 5_000,
  /** Head of an outbound request, and of its answer. */
  fetchHeaderBytes: 32 * KIB,
  /** Outbound connections, of all installations together; beyond this, fetches fail at once. */
  fetchConnections: 1_024,
  /** Outbound fetches of one installation whose answer is not over, read or not; beyond this, they fail at once. */
  fetchesInFlightPerInstallation: 256,
  /** Outbound connections of one installation to one origin; further fetches queue. */
  fetchConnectionsPerOrigin: 32,
  /** Timers pending in one call. */
  timersPerCall: 1_000,
  /** Log lines of one call; later ones are counted and dropped. */
  logLinesPerCall: 256,
  /** Log bytes of one call. */
  logBytesPerCall: 64 * KIB,
  /** Calls of one installation running at once. */
  callsInFlightPerInstallation: 32,
  /** Calls of one installation waiting for a place; beyond this, 503 with `Retry-After`. */
  callsWaitingPerInstallation: 64,
  /** Secrets of one integration. */
  secretsPerIntegration: 20,
  /** One secret. */
  secretBytes: 5 * KIB,
  /** Isolates one cell keeps. */
  isolatesPerCell: 100,
  /** V8 heaps of all isolates of one cell together; the least recently used go first. */
  cellHeapMib: 1_024,
  /** Resident memory at which the host kills a cell. */
  cellRssMib: 2_048,
  /** Blank isolates, prelude loaded, that a cell keeps ready. */
  warmIsolatesPerCell: 2,
  /** Longest silence of a cell before the host kills it. */
  cellHeartbeatMs: 5_000,
  /** How long an orderly stop waits for calls in flight. */
  stopMs: 10_000,
  /** Lines kept in the log of one installation. */
  logLinesPerInstallation: 1_000,
} as const;

/** A full set of limits; every value is a positive integer. */
export type Limits = { readonly [K in keyof typeof DEFAULT_LIMITS]: number };
