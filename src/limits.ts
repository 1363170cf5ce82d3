/**
 * Every bound of the system, with its default (`docs/contract/limits.md`) and its unit last in the
 * name.
 *
 * Pure data: shared by the host and the cells. What enforces a limit imports it from here or is
 * handed a `Limits`; nothing else in the code may hold a bound of its own that an operator would
 * want to change.
 */

const KIB = 1024;
const MIB = 1024 * KIB;
/** What a limit counts whose name ends in `Days`. */
export const DAY_MS = 24 * 60 * 60 * 1_000;

export const DEFAULT_LIMITS = {
  /** Body of one request to a public endpoint. */
  requestBodyBytes: 10 * MIB,
  /**
   * Bodies of requests that the host holds at once, of all endpoints together; beyond this, 503
   * with `Retry-After`.
   */
  bufferedBodyBytes: 256 * MIB,
  /** Of those, envelopes whose signature is not verified yet. */
  bufferedUnverifiedBytes: 64 * MIB,
  /**
   * Bodies of answers that clients have not read yet, of all endpoints together; beyond this, 503
   * with `Retry-After`.
   */
  bufferedAnswerBytes: 256 * MIB,
  /** What one installation's requests may take of all that are held, and what its answers may. */
  bufferedBodyBytesPerInstallation: 64 * MIB,
  /** Uploads that arrive, wait for their turn or are bundled, together. */
  bufferedUploadBytes: 256 * MIB,
  /** Head of one request: its first line and all headers. Beyond this, 431. */
  requestHeadBytes: 16 * KIB,
  /** Headers of one request. Beyond this, 431. */
  requestHeaders: 200,
  /** Time to send the head of a request. */
  requestHeadMs: 30_000,
  /** Time to send a whole request. */
  requestMs: 120_000,
  /** Longest pause of a client in sending a body that the host waits for. */
  requestStallMs: 10_000,
  /** Longest pause of a client in reading its answer. */
  answerStallMs: 60_000,
  /** Least pace of a client in both; it may be behind by as much as one such pause. */
  paceBytesPerSecond: 1 * KIB,
  /** Connections to the public listener. Further ones are closed at once. */
  connections: 10_000,
  /** Of those, connections from one address; those from a trusted proxy are not counted. */
  connectionsPerAddress: 1_000,
  /**
   * Requests from one address to the public listener; those with a platform token are not counted.
   * Beyond this, 429.
   */
  requestsPerSecondPerAddress: 1_000,
  /** Requests to one endpoint; those with a platform token are not counted. Beyond this, 429. */
  requestsPerSecondPerEndpoint: 5_000,
  /**
   * Chunks below 256 bytes in bodies: of requests from one address, of answers to the fetches of
   * one installation; the first 64 of each body are free. A body beyond this is read no faster.
   */
  smallChunksPerSecond: 16_384,
  /**
   * Requests with a wrong token or signature from one address, to either listener. Beyond this,
   * 429.
   */
  failedCredentialsPerMinutePerAddress: 120,
  /** Body of one answer of an integration. */
  responseBodyBytes: 10 * MIB,
  /** `event` or `environment` part of an envelope. */
  envelopePartBytes: 1 * MIB,
  /**
   * Age of the signature of an envelope, by its `t`, or how far ahead of the clock it is. Beyond
   * this, 401.
   */
  envelopeSignatureAgeMs: 300_000,
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
  /**
   * Outbound fetches of one installation whose answer is not over, read or not; beyond this, they
   * fail at once.
   */
  fetchesInFlightPerInstallation: 256,
  /** Outbound connections of one installation to one origin; further fetches queue. */
  fetchConnectionsPerOrigin: 32,
  /**
   * How many calls a call may be inside of, where integrations fetch their own and each other's
   * endpoints.
   */
  callDepth: 8,
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
  /**
   * Calls of all installations running at once; the last quarter is for installations that have
   * nothing running.
   */
  callsInFlight: 512,
  /** Calls of all installations waiting for a place; beyond this, 503 with `Retry-After`. */
  callsWaiting: 2_048,
  /**
   * Calls that end over a limit, after which an installation has to cool down; fewer where they are
   * long ago or others end well.
   */
  breachesBeforeCoolDown: 10,
  /** The first cool-down of an installation; the next ones are twice as long each. */
  coolDownMs: 1_000,
  /** Longest cool-down of an installation. */
  coolDownMsMax: 60_000,
  /** Secrets of one integration. */
  secretsPerIntegration: 20,
  /** One secret. */
  secretBytes: 5 * KIB,
  /** The configuration of one target, as JSON. */
  configurationBytes: 64 * KIB,
  /**
   * Changes of one installation and what is below it, by organizations and by its own code; beyond
   * this, 429.
   */
  editsPerMinutePerInstallation: 600,
  /** Time for an integration to complete what is being typed into a configuration. */
  completionMs: 5_000,
  /** Versions of one integration that are kept; the active one and the one before it always are. */
  versionsPerIntegration: 50,
  /**
   * Integrations that one organization has installed: an event comes to no more deliveries than
   * that.
   */
  installationsPerOrganization: 1_000,
  /** Spaces, and sites, that one installation is installed in. */
  placesPerInstallation: 1_000,
  /**
   * Events of the life of one installation that its integration has not heard yet; beyond this, it
   * cannot be changed.
   */
  lifeEventsPendingPerInstallation: 1_000,
  /** How long the outcome of a lifecycle event is kept. */
  lifeEventDays: 30,
  /** One event of the product, as JSON. */
  eventBytes: 256 * KIB,
  /** Events that are posted at once. */
  eventsPerBatch: 1_000,
  /** What is posted to a webhook's receiver. */
  webhookPayloadBytes: 256 * KIB,
  /**
   * Whole time of one attempt, from the look-up of the receiver's name to the last byte of its
   * answer.
   */
  webhookMs: 10_000,
  /** Time to connect to a receiver: look-up, TCP and TLS. */
  webhookConnectMs: 5_000,
  /** What is read of the body of a receiver's answer. */
  webhookResponseBytes: 64 * KIB,
  /** What is kept of it. */
  webhookResponseKeptBytes: 16 * KIB,
  /** Connections to receivers, of all webhooks together. */
  webhookConnections: 1_280,
  /** Deliveries in flight at once. */
  deliveriesInFlight: 256,
  /** Of those, what one organization may have. */
  deliveriesInFlightPerOrganization: 64,
  /** Of those, what may go to one endpoint. */
  deliveriesInFlightPerEndpoint: 5,
  /** Failed deliveries in a row, after which an endpoint gets one at a time until one succeeds. */
  failuresBeforeProbing: 10,
  /** Time for which a claim reserves a delivery, unless it is extended. */
  deliveryLeaseMs: 30_000,
  /** Deliveries that one replay orders anew; it says where to go on. */
  deliveriesPerReplay: 10_000,
  /**
   * How long events, and deliveries that failed or were canceled, are kept with all their attempts.
   */
  deliveryDays: 30,
  /** How long deliveries that succeeded are kept. */
  deliveredDays: 7,
  /** How long audit entries are kept. */
  auditDays: 365,
  /** Isolates one cell keeps. */
  isolatesPerCell: 100,
  /** V8 heaps of all isolates of one cell together; the least recently used go first. */
  cellHeapMib: 1_024,
  /**
   * Resident memory at which the host kills a cell; from three quarters of it on, the cell ends the
   * isolate under which it has grown most.
   */
  cellRssMib: 2_048,
  /** Blank isolates, prelude loaded, that a cell keeps ready. */
  warmIsolatesPerCell: 2,
  /**
   * Cells in which installations that may have crashed one are tried, kept apart; started on
   * demand.
   */
  trialCells: 4,
  /**
   * Cells for installations that keep crashing theirs, one each as far as there are cells; started
   * on demand. One organization, or integration, has half of them at most.
   */
  quarantineCells: 4,
  /** How long a cell that is started on demand may have nothing to do before it is stopped. */
  spareCellIdleMs: 15_000,
  /** Time for trying a script out before it is published; no more than a call may take. */
  probeWallMs: 10_000,
  /** Longest silence of a cell before the host kills it. */
  cellHeartbeatMs: 5_000,
  /** How long an orderly stop waits for calls in flight. */
  stopMs: 10_000,
  /** Lines kept in the log of one installation. */
  logLinesPerInstallation: 1_000,
} as const;

/** A full set of limits; every value is a positive integer. */
export type Limits = { readonly [K in keyof typeof DEFAULT_LIMITS]: number };
export type LimitName = keyof Limits;

/** A limit that was reached, as it is reported. */
export interface LimitMet {
  readonly name: LimitName;
  /** The limit, in the unit of its name. */
  readonly max: number;
  /** The value that exceeded it, if it is known. */
  readonly used?: number;
}

/**
 * Limits that a value below them makes useless: an isolate of less cannot even be made. Others
 * begin at 1.
 */
export const LIMIT_MINIMA: Partial<Limits> = { isolateHeapMib: 8 };

/**
 * The limits that an isolate keeps for its calls: those of the deployment, unless its integration
 * has lower ones.
 */
export const ISOLATE_LIMITS = [
  'responseBodyBytes',
  'fetchesPerCall',
  'fetchesInFlightPerCall',
  'fetchRequestBodyBytes',
  'isolateHeapMib',
  'timersPerCall',
  'logLinesPerCall',
  'logBytesPerCall',
] as const satisfies readonly LimitName[];
export type IsolateLimits = Pick<Limits, (typeof ISOLATE_LIMITS)[number]>;

/** The limits that end a call, by the cell's word. */
export const CALL_ENDING_LIMITS = [
  'callCpuMs',
  'callWallMs',
  'firstByteMs',
  'isolateHeapMib',
  'cellRssMib',
  'responseBodyBytes',
] as const satisfies readonly LimitName[];

/**
 * The limits that a call can meet and go on: something of it is refused, dropped or has to wait.
 */
export const SOFT_LIMITS = [
  'fetchesPerCall',
  'fetchesInFlightPerCall',
  'fetchRequestBodyBytes',
  'timersPerCall',
  'logLinesPerCall',
  'logBytesPerCall',
] as const satisfies readonly LimitName[];
export type SoftLimit = (typeof SOFT_LIMITS)[number];
