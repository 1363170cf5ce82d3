/**
 * Rows of the table of limits (`limit-table.ts`): events, tasks, what code stores, webhooks and
 * deliveries.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

export const EVENT_LIMITS = {
  eventBytes: {
    default: 256 * KIB,
    about: 'one event of the product, as JSON; beyond this, 413',
    met: ['The event has #', 'The event is too large'],
  },
  eventsPerBatch: {
    default: 1_000,
    about: 'events that are posted at once; beyond this, 413',
    met: ['There are # events', 'There are too many events'],
  },
  eventTypes: {
    default: 150,
    about: 'event types that the product declares; beyond this, 409',
    met: ['There would be # event types', 'There are too many event types'],
  },
  taskBytes: {
    default: 64 * KIB,
    about: 'one task, as JSON; beyond this, 413',
    met: ['The task has #', 'The task is too large'],
  },
  tasksPendingPerTarget: {
    default: 1_000,
    about: 'pending tasks of one target; beyond this, 429',
    met: [
      'The target would have # tasks pending; try again later',
      'The target has too many tasks pending; try again later',
    ],
  },
  tasksPendingPerIntegration: {
    default: 10_000,
    about: 'pending tasks of one integration, of all its targets; beyond this, 429',
    met: [
      'The integration would have # tasks pending; try again later',
      'The integration has too many tasks pending; try again later',
    ],
  },
  tasksPerMinutePerInstallation: {
    default: 600,
    about: 'tasks that the code of one installation queues; beyond this, 429',
    met: ['# tasks in a minute', 'Too many tasks of this installation'],
  },
  tasksPerMinutePerIntegration: {
    default: 3_000,
    about: 'tasks that the code of all installations of one integration queues; beyond this, 429',
    met: ['# tasks in a minute', 'Too many tasks of this integration'],
  },
  tasksPerMinutePerOrganization: {
    default: 3_000,
    about: 'tasks that all integrations queue for one organization; beyond this, 429',
    met: ['# tasks in a minute', 'Too many tasks of this organization'],
  },
  schedulesPerManifest: {
    default: 20,
    about:
      'schedules of one manifest; the publish of one with more is refused, and one with more than 100 whatever this says',
    met: ['The manifest has # schedules', 'The manifest has too many schedules'],
  },
  taskGenerations: {
    default: 500,
    about:
      'tasks of one chain, of which each was queued less than a minute ahead by the call of the one before; beyond this, 508',
    met: [
      'The task would be number # of a chain in which each task queues the next one; queue it at least a minute later',
      'The chain of tasks is too long; queue the next one at least a minute later',
    ],
  },
  storageKeyBytes: {
    default: 512,
    about: 'key of one stored value, as UTF-8; beyond this, 413',
    met: ['The key has #', 'The key is too large'],
  },
  storageValueBytes: {
    default: 128 * KIB,
    about: 'one stored value: its bytes, or its JSON; beyond this, 413',
    met: ['The value has #', 'The value is too large'],
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  storageOperationsPerCall: {
    default: 1_000,
    about: 'operations of storage of one call by the SDK, one for each key',
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  storageWrittenBytesPerMinute: {
    default: 256 * MIB,
    about:
      'values that the code of one installation writes, and that of one integration for all its installations, on one node; each change counts 2 KiB besides; beyond this, 429',
    met: ['# bytes written in a minute', 'Too many bytes written in a minute'],
  },
  storageBytes: {
    default: 10 * MIB,
    about:
      'keys and values that the code of one installation keeps, and that of one integration for all its installations; beyond this, 507',
    met: ['Keys and values would have #', 'Keys and values would be too large'],
    isLowerable: true,
  },
  storageKeys: {
    default: 10_000,
    about:
      'keys that the code of one installation keeps, and that of one integration for all its installations; beyond this, 507',
    met: ['There would be # keys', 'There would be too many keys'],
    isLowerable: true,
  },
  webhookPayloadBytes: {
    default: 256 * KIB,
    about: 'payload of a webhook',
    met: ['The payload has #', 'The payload is too large'],
  },
  webhookMs: {
    default: 10_000,
    about: "one attempt of a webhook, from the look-up of the receiver's name to the last byte of its answer",
    met: ['The attempt took #', 'The receiver did not answer in time'],
  },
  webhookConnectMs: {
    default: 5_000,
    about: 'connecting to a receiver: look-up, TCP and TLS',
    met: ['Connecting took #', 'The connection to the receiver could not be made in time'],
  },
  webhookResponseBytes: {
    default: 64 * KIB,
    about: "bytes that are read of the body of a receiver's answer",
  },
  webhookResponseKeptBytes: { default: 16 * KIB, about: 'bytes that are kept of it' },
  webhookConnections: {
    default: 1_280,
    about: 'connections to receivers, of all webhooks together',
    met: ['# connections to receivers are open', 'Too many connections to receivers are open'],
  },
  deliveriesInFlight: {
    default: 256,
    about:
      'deliveries in flight. One integration may have three quarters of them. Slow endpoints may have three quarters of all, and of the share of an integration. An endpoint is slow if its last attempt took more than a second, or if it has a backlog from before the start and no attempt has taken less since',
  },
  deliveriesInFlightPerOrganization: { default: 64, about: 'of those, the deliveries of one organization' },
  deliveriesInFlightPerEndpoint: { default: 5, about: 'of those, the deliveries to one endpoint' },
  failuresBeforeProbing: {
    default: 10,
    about: 'failed attempts in a row after which an endpoint gets one delivery at a time until one succeeds',
  },
  deliveryLeaseMs: {
    default: 30_000,
    about: 'lease of a claimed delivery, which is renewed during an attempt',
  },
  deliveriesPerReplay: {
    default: 10_000,
    about: 'deliveries of one replay; its answer says where to continue',
  },
  deliveryDays: {
    default: 30,
    about:
      'how long events and notices are kept, and deliveries that failed, were canceled or are held, with all their attempts',
  },
  deliveredDays: { default: 7, about: 'how long deliveries that succeeded are kept' },
  auditDays: { default: 365, about: 'how long entries of the audit are kept' },
} as const;
