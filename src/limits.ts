/**
 * Every limit with its default (`docs/contract/limits.md`); each name ends in its unit.
 *
 * Pure data, shared by the host and the cells. Code that enforces a limit imports it from here or
 * takes a `Limits`. No other file holds a bound that an operator might want to change.
 */

const KIB = 1024;
const MIB = 1024 * KIB;
/** Unit of limits whose name ends in `Days`. */
export const DAY_MS = 24 * 60 * 60 * 1_000;

export const DEFAULT_LIMITS = {
  /** Body of one request to a public endpoint. */
  requestBodyBytes: 10 * MIB,
  /**
   * Request bodies that the host holds at once, for all endpoints together. Beyond this, 503 with
   * `Retry-After`.
   */
  bufferedBodyBytes: 256 * MIB,
  /** Of those, envelopes whose signature is not verified yet. */
  bufferedUnverifiedBytes: 64 * MIB,
  /**
   * Bodies of answers that clients have not read yet, for all endpoints together. Beyond this, 503
   * with `Retry-After`.
   */
  bufferedAnswerBytes: 256 * MIB,
  /** Share of one installation in the held request bodies, and likewise in the held answers. */
  bufferedBodyBytesPerInstallation: 64 * MIB,
  /** All uploads that are arriving, queued or being bundled, together. */
  bufferedUploadBytes: 256 * MIB,
  /** Head of one request: request line and all headers. Beyond this, 431. */
  requestHeadBytes: 16 * KIB,
  /** Headers of one request. Beyond this, 431. */
  requestHeaders: 200,
  /** Time to send the head of a request. */
  requestHeadMs: 30_000,
  /** Time to send a whole request. */
  requestMs: 120_000,
  /** Longest pause of a client while it sends a body. */
  requestStallMs: 10_000,
  /** Longest pause of a client while it reads its answer. */
  answerStallMs: 60_000,
  /** Minimum rate of a client in both directions; it may be behind by one such pause. */
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
   * one installation; the first 64 of each body are free. A body beyond this is read at this rate.
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
  /** CPU time of one upload: to read and to bundle it. */
  bundleMs: 20_000,
  /** V8 heap of one isolate. */
  isolateHeapMib: 128,
  /** CPU time of one call, summed over all its entries into the isolate. */
  callCpuMs: 1_000,
  /** Wall time of one call, `waitUntil` included. */
  callWallMs: 30_000,
  /** Time from the start of a call to its response. */
  firstByteMs: 25_000,
  /** Outbound fetches of one call. */
  fetchesPerCall: 50,
  /**
   * Outbound fetches of one call that wait for their answer at the same time; further ones queue.
   */
  fetchesInFlightPerCall: 6,
  /** Body of one outbound fetch. */
  fetchRequestBodyBytes: 10 * MIB,
  /** Body of one answer to a fetch, after decompression. */
  fetchResponseBodyBytes: 10 * MIB,
  /** Redirects that one fetch follows. */
  fetchRedirects: 5,
  /** Total time of one fetch, from the DNS look-up to the last byte of its answer. */
  fetchMs: 30_000,
  /** Time to open one outbound connection: DNS look-up, TCP and TLS. */
  fetchConnectMs: 5_000,
  /** Head of an outbound request, and of its answer. */
  fetchHeaderBytes: 32 * KIB,
  /** Outbound connections of all installations together. Beyond this, fetches fail immediately. */
  fetchConnections: 1_024,
  /**
   * Outbound fetches of one installation whose answer has not ended, read or not. Beyond this,
   * fetches fail immediately.
   */
  fetchesInFlightPerInstallation: 256,
  /** Outbound connections of one installation to one origin; further fetches queue. */
  fetchConnectionsPerOrigin: 32,
  /** Requests to the product's API in flight, of all callers together. Beyond this, 503. */
  productRequestsInFlight: 256,
  /** Of those, requests of one installation. Beyond this, 503. */
  productRequestsInFlightPerInstallation: 32,
  /** Time to connect to the product's API: DNS look-up, TCP and TLS. */
  productConnectMs: 5_000,
  /** Time until the product's API begins its answer. */
  productFirstByteMs: 25_000,
  /** Total time of one request to the product's API, to the last byte of the answer. */
  productMs: 30_000,
  /** Body of one request to the product's API. */
  productRequestBodyBytes: 10 * MIB,
  /** Body of one answer of the product's API. */
  productResponseBodyBytes: 10 * MIB,
  /** Nesting of calls, as integrations fetch their own and each other's endpoints. */
  callDepth: 8,
  /** Timers pending in one call. */
  timersPerCall: 1_000,
  /** Log lines of one call; later ones are counted and dropped. */
  logLinesPerCall: 256,
  /** Log bytes of one call. */
  logBytesPerCall: 64 * KIB,
  /** Running calls of one installation. */
  callsInFlightPerInstallation: 32,
  /** Queued calls of one installation. Beyond this, 503 with `Retry-After`. */
  callsWaitingPerInstallation: 64,
  /**
   * Running calls of all installations; the last quarter is reserved for installations without a
   * running call.
   */
  callsInFlight: 512,
  /** Queued calls of all installations. Beyond this, 503 with `Retry-After`. */
  callsWaiting: 2_048,
  /**
   * Breaches that open the circuit breaker of an installation. Old breaches count less, and calls
   * that end well reduce the count.
   */
  breachesBeforeCoolDown: 10,
  /** First time for which a circuit breaker opens; each further one is twice as long. */
  coolDownMs: 1_000,
  /** Longest time for which a circuit breaker opens. */
  coolDownMsMax: 60_000,
  /** Secrets of one integration. */
  secretsPerIntegration: 20,
  /** Value of one secret. */
  secretBytes: 5 * KIB,
  /** The configuration of one target, as JSON. */
  configurationBytes: 64 * KIB,
  /**
   * Changes of one installation and the targets below it, by organizations and by its own code.
   * Beyond this, 429.
   */
  editsPerMinutePerInstallation: 600,
  /**
   * Orders of one organization about its integrations: publishes, activations, secrets, install
   * links, and all others without a rate of their own. Beyond this, 429.
   */
  ordersPerMinutePerOrganization: 600,
  /** Time for an integration to answer a request for completions of a configuration property. */
  completionMs: 5_000,
  /** Kept versions of one integration; the active one and the one before it are always kept. */
  versionsPerIntegration: 50,
  /** Installations of one organization: also the maximum number of deliveries of one event. */
  installationsPerOrganization: 1_000,
  /** Spaces of one installation, and likewise its sites. */
  placesPerInstallation: 1_000,
  /**
   * Lifecycle events of one installation that are not handled yet. Beyond this, the installation
   * cannot be changed.
   */
  lifeEventsPendingPerInstallation: 1_000,
  /** How long the outcome of a lifecycle event is kept. */
  lifeEventDays: 30,
  /** One event of the product, as JSON. */
  eventBytes: 256 * KIB,
  /** Events in one post. */
  eventsPerBatch: 1_000,
  /** One task, as JSON. */
  taskBytes: 64 * KIB,
  /** Pending tasks of one target. Beyond this, 429. */
  tasksPendingPerTarget: 1_000,
  /** Pending tasks of one integration, of all its targets together. Beyond this, 429. */
  tasksPendingPerIntegration: 10_000,
  /**
   * Tasks that the code of one installation queues, and likewise that of an integration at its own
   * level. Beyond this, 429.
   */
  tasksPerMinutePerInstallation: 600,
  /** Tasks that the code of all installations of one integration queues. Beyond this, 429. */
  tasksPerMinutePerIntegration: 3_000,
  /** Tasks that all integrations queue for one organization. Beyond this, 429. */
  tasksPerMinutePerOrganization: 3_000,
  /**
   * Tasks of one chain, of which each was queued less than a minute ahead by the call of the one
   * before. Beyond this, 508.
   */
  taskGenerations: 500,
  /** Payload of one webhook. */
  webhookPayloadBytes: 256 * KIB,
  /** Total time of one attempt, from the DNS look-up to the last byte of the receiver's answer. */
  webhookMs: 10_000,
  /** Time to connect to a receiver: DNS look-up, TCP and TLS. */
  webhookConnectMs: 5_000,
  /** Bytes that are read of the body of a receiver's answer. */
  webhookResponseBytes: 64 * KIB,
  /** Bytes of it that are stored. */
  webhookResponseKeptBytes: 16 * KIB,
  /** Connections to receivers, of all webhooks together. */
  webhookConnections: 1_280,
  /** Deliveries in flight at once. */
  deliveriesInFlight: 256,
  /** Of those, deliveries of one organization. */
  deliveriesInFlightPerOrganization: 64,
  /** Of those, deliveries to one endpoint. */
  deliveriesInFlightPerEndpoint: 5,
  /** Failed deliveries in a row after which an endpoint gets one at a time, until one succeeds. */
  failuresBeforeProbing: 10,
  /** Lease of a claimed delivery, unless it is renewed. */
  deliveryLeaseMs: 30_000,
  /** Deliveries that one replay repeats; its answer has a cursor for the rest. */
  deliveriesPerReplay: 10_000,
  /** How long events, and failed or canceled deliveries with all their attempts, are kept. */
  deliveryDays: 30,
  /** How long deliveries that succeeded are kept. */
  deliveredDays: 7,
  /** How long audit entries are kept. */
  auditDays: 365,
  /** Isolates that one cell keeps. */
  isolatesPerCell: 100,
  /** V8 heaps of all isolates of one cell together; the least recently used are evicted first. */
  cellHeapMib: 1_024,
  /**
   * Resident memory at which the host kills a cell. From three quarters of it, the cell ends the
   * isolate during whose entries its memory has grown most.
   */
  cellRssMib: 2_048,
  /** Blank isolates that a cell keeps ready. */
  warmIsolatesPerCell: 2,
  /** Trial cells for suspects, apart from the other cells; started on demand. */
  trialCells: 4,
  /**
   * Cells for installations in quarantine, one each while there are enough; started on demand. One
   * organization, or integration, occupies at most half of them.
   */
  quarantineCells: 4,
  /** How long a cell that was started on demand may be idle before it is stopped. */
  spareCellIdleMs: 15_000,
  /** Time for the probe of a script before it is published; at most that of a call. */
  probeWallMs: 10_000,
  /** Time without a message from a cell after which the host kills it. */
  cellHeartbeatMs: 5_000,
  /** How long a graceful shutdown waits for calls in flight. */
  stopMs: 10_000,
  /** Lines that are kept in the log of one installation. */
  logLinesPerInstallation: 1_000,
  /** Clients that follow logs or deliveries, of all installations together. Beyond this, 503. */
  logFollowers: 256,
  /** Of those, clients that follow one log, or one installation or organization by deliveries. */
  logFollowersPerInstallation: 16,
  /** Of those, clients with one organization's token. */
  logFollowersPerToken: 64,
  /** Text that a follower has not read yet. Beyond this, it is dropped. */
  logFollowerBufferBytes: 1 * MIB,
} as const;

/** A full set of limits; every value is a positive integer. */
export type Limits = { readonly [K in keyof typeof DEFAULT_LIMITS]: number };
export type LimitName = keyof Limits;

/** A limit that was reached, as reported to callers and in logs. */
export interface LimitMet {
  readonly name: LimitName;
  /** The limit, in the unit of its name. */
  readonly max: number;
  /** The value that exceeded it, if known. */
  readonly used?: number;
}

/** Minimum values: an isolate with less heap cannot be created. The minimum of all others is 1. */
export const LIMIT_MINIMA: Partial<Limits> = { isolateHeapMib: 8 };

/**
 * The limits that an isolate enforces on its calls: those of the deployment, unless the integration
 * has lowered them.
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

/** The limits that end a call, as a cell reports them. */
export const CALL_ENDING_LIMITS = [
  'callCpuMs',
  'callWallMs',
  'firstByteMs',
  'isolateHeapMib',
  'cellRssMib',
  'responseBodyBytes',
] as const satisfies readonly LimitName[];

/** The limits that do not end a call: what exceeds them is refused, dropped or queued. */
export const SOFT_LIMITS = [
  'fetchesPerCall',
  'fetchesInFlightPerCall',
  'fetchRequestBodyBytes',
  'timersPerCall',
  'logLinesPerCall',
  'logBytesPerCall',
] as const satisfies readonly LimitName[];
export type SoftLimit = (typeof SOFT_LIMITS)[number];
