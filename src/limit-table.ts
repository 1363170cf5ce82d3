/**
 * Every limit, one row each (`Limit` of `limits.ts`): settings, messages, metrics and the page
 * `docs/limits.md` follow. What happens beyond each is in `docs/contract/limits.md`.
 *
 * Pure data, shared by the host and the cells. No other file holds a bound that an operator might
 * want to change.
 */

import { EVENT_LIMITS } from './event-limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

export const LIMIT_TABLE = {
  requestBodyBytes: {
    default: 10 * MIB,
    about: 'body of one request to an endpoint',
    met: ['The body has #', 'The body is too large'],
    isLowerable: true,
  },
  bufferedBodyBytes: {
    default: 256 * MIB,
    about: 'bodies of requests held at once, of all endpoints together; further ones are refused',
    met: [
      'All bodies that are being held have #',
      'Too many bodies are being held; try again after `Retry-After`',
    ],
  },
  bufferedUnverifiedBytes: {
    default: 64 * MIB,
    about: 'of those, envelopes whose signature is not verified yet',
    met: [
      'All envelopes that are being held and not verified have #',
      'Too many envelopes are being held and not verified; try again after `Retry-After`',
    ],
  },
  bufferedAnswerBytes: {
    default: 256 * MIB,
    about: 'answers that clients have not read yet, of all endpoints together; further ones are refused',
    met: [
      'All answers that are being held have #',
      'Too many answers are being held that clients do not read; try again after `Retry-After`',
    ],
  },
  bufferedBodyBytesPerInstallation: {
    default: 64 * MIB,
    about: 'the part of each budget that one installation may hold: for requests, and for answers',
    met: [
      'The bodies of the installation that are being held have #',
      'Too many bodies of the installation are being held; try again after `Retry-After`',
    ],
  },
  bufferedUploadBytes: {
    default: 256 * MIB,
    about:
      'uploads that arrive, wait or are bundled, together. One publisher (an organization, or all admins together) holds no more than it leaves free; beyond this, uploads are refused',
    met: [
      'All uploads that are being held have #',
      'Too many uploads are being held; try again after `Retry-After`',
    ],
  },
  requestHeadBytes: {
    default: 16 * KIB,
    about: 'URL and headers of one request, to either listener',
    met: ['The URL and the headers have #', 'The URL and the headers are too large'],
  },
  requestHeaders: {
    default: 200,
    about: 'headers of one request',
    met: ['The request has # headers', 'The request has too many headers'],
  },
  requestHeadMs: {
    default: 30_000,
    about: 'time to send the head of a request',
    met: ['The head of the request took #', 'The head of the request was not sent in time'],
  },
  requestMs: {
    default: 120_000,
    about: 'time to send a whole request',
    met: ['The request took #', 'The request was not sent in time'],
  },
  requestStallMs: {
    default: 10_000,
    about: 'longest pause of a client in sending a body that the service waits for',
    met: ['No byte of the body arrived for #', 'The body of the request came too slowly'],
  },
  answerStallMs: { default: 60_000, about: 'longest pause of a client in reading its answer' },
  paceBytesPerSecond: {
    default: 1 * KIB,
    about:
      'minimum pace of a client in both directions; it may lag by one such pause, and a burst does not prepay more',
  },
  connections: {
    default: 10_000,
    about: 'connections to the public listener; further ones are closed at once',
  },
  connectionsPerAddress: { default: 1_000, about: 'of those, from one address' },
  requestsPerSecondPerAddress: {
    default: 1_000,
    about: 'requests from one address to the public listener',
    met: ['# requests in a second', 'Too many requests from this address'],
  },
  requestsPerSecondPerEndpoint: {
    default: 5_000,
    about: 'requests to one endpoint',
    met: ['# requests in a second', 'Too many requests to this endpoint'],
  },
  smallChunksPerSecond: {
    default: 16_384,
    about:
      'chunks below 256 bytes in bodies of requests from one address, and in answers to the fetches of one installation; the first 64 of each body are not counted. Beyond this, a body is read no faster',
    met: ['# small chunks in a second', 'Bodies come in too many small chunks'],
  },
  failedCredentialsPerMinutePerAddress: {
    default: 120,
    about: 'wrong tokens and signatures from one address, to either listener',
    met: ['# requests with wrong credentials', 'Too many requests with wrong credentials from this address'],
  },
  responseBodyBytes: {
    default: 10 * MIB,
    about: 'body of one answer of an integration',
    met: ["The integration's answer has #", "The integration's answer is too large"],
    isLowerable: true,
    isOfIsolate: true,
    endsCall: true,
  },
  envelopePartBytes: {
    default: 1 * MIB,
    about: '`event` or `environment` of an envelope',
    met: ['The part has #', 'The part is too large'],
    isLowerable: true,
  },
  envelopeSignatureAgeMs: {
    default: 300_000,
    about:
      "maximum age of the signature of an envelope, and how far its `t` may be ahead of this machine's clock",
    met: [
      'The `t` of the signature is # away from the time of this service',
      'The `t` of the signature is too far away from the time of this service',
    ],
  },
  scriptBytes: {
    default: 5 * MIB,
    about: 'one bundled script',
    met: ['The script has #', 'The script is too large'],
  },
  uploadBytes: {
    default: 20 * MIB,
    about: 'all files of an upload, unpacked',
    met: ['The upload has #', 'The upload is too large'],
  },
  uploadFiles: {
    default: 2_000,
    about: 'files of an upload',
    met: ['The upload has # files', 'The upload has too many files'],
  },
  staticFiles: {
    default: 1_000,
    about: 'static files of a version',
    met: ['There are # static files', 'There are too many static files'],
  },
  staticFileBytes: {
    default: 5 * MIB,
    about: 'one static file',
    met: ['The static file has #', 'The static file is too large'],
  },
  bundleMs: {
    default: 20_000,
    about: 'CPU time to read and bundle an upload; six times that, and a minute at least, by the clock',
    met: ['Bundling took # of CPU time', 'Bundling used up its CPU time and was stopped'],
  },
  isolateHeapMib: {
    default: 128,
    least: 8,
    about: 'V8 heap of one isolate',
    met: ['The isolate used # of memory', 'The isolate ran out of memory'],
    isLowerable: true,
    isOfIsolate: true,
    endsCall: true,
  },
  wasmModuleBytes: {
    default: 8 * MIB,
    about: 'one module of WebAssembly; with 1 there is none',
    isLowerable: true,
    isOfIsolate: true,
  },
  callCpuMs: {
    default: 1_000,
    about: 'CPU of one call, over all its entries into the isolate',
    met: ['The call used # of CPU', 'A call in the same isolate used too much CPU'],
    isLowerable: true,
    endsCall: true,
  },
  callWallMs: {
    default: 30_000,
    about: 'wall time of one call, its streams and `waitUntil` included',
    met: ['The call had not finished after #', 'A call in the same isolate did not finish in time'],
    isLowerable: true,
    endsCall: true,
  },
  firstByteMs: {
    default: 25_000,
    about: 'time from the start of a call to its answer',
    met: ['The call had given no answer after #', 'A call in the same isolate gave no answer in time'],
    isLowerable: true,
    endsCall: true,
  },
  fetchesPerCall: {
    default: 50,
    about: 'outbound fetches of one call',
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  fetchesInFlightPerCall: {
    default: 6,
    about: 'of those, how many may wait for their answers at once; further ones queue',
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  fetchRequestBodyBytes: {
    default: 10 * MIB,
    about: 'body of one outbound fetch',
    met: ['The body of the request has #', 'The body of the request is too large'],
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  fetchResponseBodyBytes: {
    default: 10 * MIB,
    about: 'body of one answer to a fetch, after decompression',
    met: ['The body of the answer has #', 'The body of the answer is too large'],
    isLowerable: true,
  },
  fetchRedirects: {
    default: 5,
    about: 'redirects that one fetch follows',
    met: ['The answer redirects # times', 'The answer redirects too often'],
    isLowerable: true,
  },
  fetchMs: {
    default: 30_000,
    about: 'whole time of one fetch, from the look-up of its host to the last byte',
    met: ['The fetch took #', "The fetch, its answer's body included, took too long"],
    isLowerable: true,
  },
  fetchConnectMs: {
    default: 5_000,
    about: 'time to make one outbound connection: look-up, TCP and TLS',
    met: ['Connecting took #', 'The connection could not be made in time'],
  },
  fetchHeaderBytes: {
    default: 32 * KIB,
    about: 'head of an outbound request, and of its answer',
    met: ['The headers have #', 'The headers are too large'],
  },
  fetchConnections: {
    default: 1_024,
    about: 'outbound connections, of all installations together; further fetches fail at once',
    met: ['# outbound connections are open', 'Too many outbound connections are open; try again later'],
  },
  fetchesInFlightPerInstallation: {
    default: 256,
    about: 'outbound fetches of one installation whose answers are not complete; further ones fail at once',
    met: [
      '# fetches of the installation are in flight',
      'Too many fetches of the installation are in flight; try again later',
    ],
    isLowerable: true,
  },
  fetchConnectionsPerOrigin: {
    default: 32,
    about: 'outbound connections of one installation to one origin; further fetches queue',
  },
  productRequestsInFlight: {
    default: 256,
    about: "requests to the product's API in flight; further ones are refused",
    met: [
      "# requests to the product's API are in flight",
      "Too many requests to the product's API are in flight; try again later",
    ],
  },
  productRequestsInFlightPerInstallation: {
    default: 32,
    about: 'of those, requests of one installation',
    met: [
      "# requests of the installation to the product's API are in flight",
      "Too many requests of the installation to the product's API are in flight; try again later",
    ],
  },
  productConnectMs: {
    default: 5_000,
    about: "time to connect to the product's API: DNS look-up, TCP and TLS",
    met: [
      "Connecting to the product's API took #",
      "The connection to the product's API could not be made in time",
    ],
  },
  productFirstByteMs: {
    default: 25_000,
    about: "time until the product's API begins its answer",
    met: ["The product's API had given no answer after #", "The product's API gave no answer in time"],
  },
  productMs: {
    default: 30_000,
    about: 'total time of one request to it, to the last byte of the answer',
    met: [
      "The request to the product's API took #",
      "The request to the product's API, its answer's body included, took too long",
    ],
  },
  productRequestBodyBytes: {
    default: 10 * MIB,
    about: 'body of one request to it',
    met: ['The body of the request has #', 'The body of the request is too large'],
  },
  productResponseBodyBytes: {
    default: 10 * MIB,
    about: 'body of one answer of it',
    met: ["The answer of the product's API has #", "The answer of the product's API is too large"],
  },
  callDepth: {
    default: 8,
    about: 'depth of nested calls, where integrations fetch endpoints of this service',
    met: ['The call would be # calls deep', 'Integrations call each other too deep'],
  },
  timersPerCall: {
    default: 1_000,
    about: 'timers pending in one call',
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  logLinesPerCall: {
    default: 256,
    about: 'log lines of one call; further ones are counted and dropped',
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  logBytesPerCall: {
    default: 64 * KIB,
    about: 'log text of one call',
    isLowerable: true,
    isOfIsolate: true,
    endsCall: false,
  },
  callsInFlightPerInstallation: {
    default: 32,
    about: 'calls of one installation that run at once',
    met: ['# calls of the installation are running', 'Too many calls of the installation are running'],
    isLowerable: true,
  },
  callsWaitingPerInstallation: {
    default: 64,
    about: 'calls of one installation that wait; further ones are refused',
    met: ['# calls of the installation are waiting', 'Too many calls of the installation are waiting'],
    isLowerable: true,
  },
  callsInFlight: {
    default: 512,
    about: 'calls of all installations that run at once',
    met: ['# calls are running', 'Too many calls are running'],
  },
  callsWaiting: {
    default: 2_048,
    about: 'calls of all installations that wait; further ones are refused',
    met: ['# calls are waiting', 'Too many calls are waiting'],
  },
  breachesBeforeCoolDown: {
    default: 10,
    about: 'breaches of limits after which the circuit breaker of an installation opens',
  },
  coolDownMs: {
    default: 1_000,
    about: 'first pause of the circuit breaker; each further one in a row is twice as long',
  },
  coolDownMsMax: { default: 60_000, about: 'longest pause of the circuit breaker' },
  secretsPerIntegration: {
    default: 20,
    about: 'secrets of one integration',
    met: ['There are # secrets', 'There are too many secrets'],
  },
  secretBytes: {
    default: 5 * KIB,
    about: 'one secret',
    met: ['The secret has #', 'The secret is too large'],
  },
  configurationBytes: {
    default: 64 * KIB,
    about: 'configuration of one installation, or of one space or site of it, as JSON',
    met: ['The configuration has #', 'The configuration is too large'],
  },
  editsPerMinutePerInstallation: {
    default: 600,
    about:
      'changes of one installation with its spaces and sites, counted apart for its organization and for its own code: edits, pauses, installs, removals, also refused ones',
    met: ['# edits in a minute', 'Too many edits of this installation'],
  },
  ordersPerMinutePerOrganization: {
    default: 600,
    about:
      'orders of one organization that have no rate of their own, also refused ones: publishes and checks, activations, secrets, install links, deletions',
    met: ['# orders in a minute', 'Too many orders of this organization'],
  },
  completionMs: {
    default: 5_000,
    about: 'time for an integration to supply the choices of a setting',
    met: ['The choices took #', 'The integration did not supply the choices in time'],
  },
  versionsPerIntegration: {
    default: 50,
    about: 'versions of one integration that are kept; the active one and the one before it always are',
  },
  installationsPerOrganization: {
    default: 1_000,
    about:
      'integrations that one organization has installed, which bounds the deliveries of one event; installations beyond a limit that is lowered stay',
    met: [
      'The organization would have # integrations installed',
      'The organization has too many integrations installed',
    ],
  },
  placesPerInstallation: {
    default: 1_000,
    about: 'spaces, and sites, that one installation is installed in',
    met: [
      'The installation would be in # places of its kind',
      'The installation is in too many spaces or sites',
    ],
  },
  lifeEventsPendingPerInstallation: {
    default: 1_000,
    about: 'lifecycle events of one installation that are not delivered yet; further changes are refused',
    met: [
      '# lifecycle events of earlier changes are not delivered yet; try again later',
      'Too many lifecycle events of earlier changes are not delivered yet; try again later',
    ],
  },
  lifeEventDays: { default: 30, about: 'how long the record of a lifecycle event is kept' },
  ...EVENT_LIMITS,
  isolatesPerCell: { default: 100, about: 'isolates that one cell keeps' },
  cellHeapMib: {
    default: 1_024,
    about: "heaps of one cell's isolates together; the least recently used isolates are evicted",
  },
  cellRssMib: {
    default: 2_048,
    about: 'resident memory at which a cell is killed',
    met: [
      'The process used # of memory',
      'The isolate took the most memory of a process that ran short of it',
    ],
    endsCall: true,
  },
  warmIsolatesPerCell: { default: 2, about: 'blank isolates that a cell keeps ready' },
  trialCells: { default: 4, about: 'trial cells, for installations that are suspected of crashing cells' },
  quarantineCells: {
    default: 4,
    about:
      'cells for guilty installations, one each; if all are taken, the installations whose last crash is longest ago share one',
  },
  spareCellIdleMs: {
    default: 15_000,
    about:
      'how long a cell that is started on demand (those two kinds, the cell apart for CPU, the cell for probes) may be idle before it is stopped',
  },
  probeWallMs: {
    default: 10_000,
    about: 'time for the probe of a script before it is published; no more than a call may take',
    met: ['Loading the script took #', 'The script does not finish loading'],
  },
  cellHeartbeatMs: { default: 5_000, about: 'silence after which a cell is killed' },
  stopMs: { default: 10_000, about: 'how long a stop waits for calls in flight' },
  logLinesPerInstallation: {
    default: 1_000,
    about:
      'lines kept in the log of one installation. Lines about refused requests, and about calls that time out because of their client, may take a fiftieth of them at once and one line in ten minutes; beyond that a line has their number',
  },
  logFollowers: {
    default: 256,
    about:
      'clients that follow [logs](contract/calls.md#following-a-log) or [deliveries](contract/webhooks.md#following-deliveries), of all installations together',
    met: ['# clients follow logs or deliveries', 'Too many clients follow logs or deliveries'],
  },
  logFollowersPerInstallation: {
    default: 16,
    about: 'of those, clients that follow one log, or the deliveries of one installation or organization',
    met: [
      '# clients follow this log, or these deliveries',
      'Too many clients follow this log, or these deliveries',
    ],
  },
  logFollowersPerToken: {
    default: 64,
    about: "of those, clients with one organization's token",
    met: [
      '# clients with this token follow logs or deliveries',
      'Too many clients with this token follow logs or deliveries',
    ],
  },
  logFollowerBufferBytes: {
    default: 1 * MIB,
    about: 'text that a follower has not read; beyond this, it is dropped',
  },
} as const;
