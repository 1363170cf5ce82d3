/**
 * Sentences for a limit that was met: what was measured, its value, and the name of the limit,
 * which is the name of the setting. Answers, logs and problems of an upload all use these
 * sentences.
 */
import { AnnexError, type ErrorCode } from '../errors.ts';
import type { LimitMet, LimitName } from '../limits.ts';

/**
 * Sentences of a limit. In the first, `#` is replaced by the used amount; the second is for an
 * unknown amount.
 */
type Words = readonly [used: string, unknown: string];

const WORDS: Partial<Record<LimitName, Words>> = {
  requestBodyBytes: ['The body has #', 'The body is too large'],
  bufferedBodyBytes: [
    'All bodies that are being held have #',
    'Too many bodies are being held; try again after `Retry-After`',
  ],
  bufferedUnverifiedBytes: [
    'All envelopes that are being held and not verified have #',
    'Too many envelopes are being held and not verified; try again after `Retry-After`',
  ],
  bufferedAnswerBytes: [
    'All answers that are being held have #',
    'Too many answers are being held that clients do not read; try again after `Retry-After`',
  ],
  bufferedBodyBytesPerInstallation: [
    'The bodies of the installation that are being held have #',
    'Too many bodies of the installation are being held; try again after `Retry-After`',
  ],
  bufferedUploadBytes: [
    'All uploads that are being held have #',
    'Too many uploads are being held; try again after `Retry-After`',
  ],
  requestHeadBytes: ['The URL and the headers have #', 'The URL and the headers are too large'],
  requestHeaders: ['The request has # headers', 'The request has too many headers'],
  requestHeadMs: ['The head of the request took #', 'The head of the request was not sent in time'],
  requestMs: ['The request took #', 'The request was not sent in time'],
  requestStallMs: ['No byte of the body arrived for #', 'The body of the request came too slowly'],
  requestsPerSecondPerAddress: ['# requests in a second', 'Too many requests from this address'],
  requestsPerSecondPerEndpoint: ['# requests in a second', 'Too many requests to this endpoint'],
  smallChunksPerSecond: ['# small chunks in a second', 'Bodies come in too many small chunks'],
  editsPerMinutePerInstallation: ['# edits in a minute', 'Too many edits of this installation'],
  ordersPerMinutePerOrganization: ['# orders in a minute', 'Too many orders of this organization'],
  failedCredentialsPerMinutePerAddress: [
    '# requests with wrong credentials',
    'Too many requests with wrong credentials from this address',
  ],
  responseBodyBytes: ["The integration's answer has #", "The integration's answer is too large"],
  envelopePartBytes: ['The part has #', 'The part is too large'],
  envelopeSignatureAgeMs: [
    'The `t` of the signature is # away from the time of this service',
    'The `t` of the signature is too far away from the time of this service',
  ],
  scriptBytes: ['The script has #', 'The script is too large'],
  uploadBytes: ['The upload has #', 'The upload is too large'],
  uploadFiles: ['The upload has # files', 'The upload has too many files'],
  bundleMs: ['Bundling took # of CPU time', 'Bundling used up its CPU time and was stopped'],
  probeWallMs: ['Loading the script took #', 'The script does not finish loading'],
  isolateHeapMib: ['The isolate used # of memory', 'The isolate ran out of memory'],
  cellRssMib: [
    'The process used # of memory',
    'The isolate took the most memory of a process that ran short of it',
  ],
  callCpuMs: ['The call used # of CPU', 'A call in the same isolate used too much CPU'],
  callWallMs: ['The call had not finished after #', 'A call in the same isolate did not finish in time'],
  firstByteMs: ['The call had given no answer after #', 'A call in the same isolate gave no answer in time'],
  callsInFlight: ['# calls are running', 'Too many calls are running'],
  callsInFlightPerInstallation: [
    '# calls of the installation are running',
    'Too many calls of the installation are running',
  ],
  callsWaitingPerInstallation: [
    '# calls of the installation are waiting',
    'Too many calls of the installation are waiting',
  ],
  callsWaiting: ['# calls are waiting', 'Too many calls are waiting'],
  logFollowers: ['# clients follow logs or deliveries', 'Too many clients follow logs or deliveries'],
  logFollowersPerInstallation: [
    '# clients follow this log, or these deliveries',
    'Too many clients follow this log, or these deliveries',
  ],
  logFollowersPerToken: [
    '# clients with this token follow logs or deliveries',
    'Too many clients with this token follow logs or deliveries',
  ],
  secretsPerIntegration: ['There are # secrets', 'There are too many secrets'],
  completionMs: ['The choices took #', 'The integration did not supply the choices in time'],
  configurationBytes: ['The configuration has #', 'The configuration is too large'],
  installationsPerOrganization: [
    'The organization would have # integrations installed',
    'The organization has too many integrations installed',
  ],
  placesPerInstallation: [
    'The installation would be in # places of its kind',
    'The installation is in too many spaces or sites',
  ],
  lifeEventsPendingPerInstallation: [
    '# lifecycle events of earlier changes are not delivered yet; try again later',
    'Too many lifecycle events of earlier changes are not delivered yet; try again later',
  ],
  eventBytes: ['The event has #', 'The event is too large'],
  eventsPerBatch: ['There are # events', 'There are too many events'],
  taskBytes: ['The task has #', 'The task is too large'],
  tasksPendingPerTarget: [
    'The target would have # tasks pending; try again later',
    'The target has too many tasks pending; try again later',
  ],
  tasksPendingPerIntegration: [
    'The integration would have # tasks pending; try again later',
    'The integration has too many tasks pending; try again later',
  ],
  tasksPerMinutePerInstallation: ['# tasks in a minute', 'Too many tasks of this installation'],
  tasksPerMinutePerIntegration: ['# tasks in a minute', 'Too many tasks of this integration'],
  tasksPerMinutePerOrganization: ['# tasks in a minute', 'Too many tasks of this organization'],
  taskGenerations: [
    'The task would be number # of a chain in which each task queues the next one; queue it at least a minute later',
    'The chain of tasks is too long; queue the next one at least a minute later',
  ],
  webhookPayloadBytes: ['The payload has #', 'The payload is too large'],
  webhookMs: ['The attempt took #', 'The receiver did not answer in time'],
  webhookConnectMs: ['Connecting took #', 'The connection to the receiver could not be made in time'],
  webhookConnections: ['# connections to receivers are open', 'Too many connections to receivers are open'],
  secretBytes: ['The secret has #', 'The secret is too large'],
  fetchesInFlightPerInstallation: [
    '# fetches of the installation are in flight',
    'Too many fetches of the installation are in flight; try again later',
  ],
  fetchConnections: [
    '# outbound connections are open',
    'Too many outbound connections are open; try again later',
  ],
  productRequestsInFlight: [
    "# requests to the product's API are in flight",
    "Too many requests to the product's API are in flight; try again later",
  ],
  productRequestsInFlightPerInstallation: [
    "# requests of the installation to the product's API are in flight",
    "Too many requests of the installation to the product's API are in flight; try again later",
  ],
  productConnectMs: [
    "Connecting to the product's API took #",
    "The connection to the product's API could not be made in time",
  ],
  productFirstByteMs: [
    "The product's API had given no answer after #",
    "The product's API gave no answer in time",
  ],
  productMs: [
    "The request to the product's API took #",
    "The request to the product's API, its answer's body included, took too long",
  ],
  productRequestBodyBytes: ['The body of the request has #', 'The body of the request is too large'],
  productResponseBodyBytes: [
    "The answer of the product's API has #",
    "The answer of the product's API is too large",
  ],
  callDepth: ['The call would be # calls deep', 'Integrations call each other too deep'],
  fetchMs: ['The fetch took #', "The fetch, its answer's body included, took too long"],
  fetchConnectMs: ['Connecting took #', 'The connection could not be made in time'],
  fetchRedirects: ['The answer redirects # times', 'The answer redirects too often'],
  fetchHeaderBytes: ['The headers have #', 'The headers are too large'],
  fetchRequestBodyBytes: ['The body of the request has #', 'The body of the request is too large'],
  fetchResponseBodyBytes: ['The body of the answer has #', 'The body of the answer is too large'],
};

const ANYTHING: Words = ['The value was #', 'A limit was met'];

/**
 * One sentence, for instance "The call used 1,004 ms of CPU; the limit is 1,000 ms (callCpuMs)."
 */
export function limitSentence(met: LimitMet): string {
  const [used, unknown] = WORDS[met.name] ?? ANYTHING;
  const what = met.used === undefined ? unknown : used.replace('#', quantity(met.name, met.used));
  return `${what}; ${limitClause(met)}.`;
}

/** The clause that names the limit, for a sentence with a beginning of its own. */
export const limitClause = ({ name, max }: Pick<LimitMet, 'name' | 'max'>): string =>
  `the limit is ${quantity(name, max)} (${name})`;

/** An error whose only cause is a limit. */
export const limitError = (code: ErrorCode, met: LimitMet): AnnexError =>
  new AnnexError(code, limitSentence(met), { limit: met });

const KIB = 1024;
const MIB = 1024 * KIB;

/** A value with the unit that the limit's name ends in; round numbers of bytes in KiB or MiB. */
export function quantity(name: LimitName, value: number): string {
  if (name.endsWith('Mib')) return `${grouped(value)} MiB`;
  if (/Ms$|Ms(?=[A-Z])/.test(name)) return `${grouped(value)} ms`;
  if (!/Bytes/.test(name)) return grouped(value);
  if (value >= MIB && value % MIB === 0) return `${grouped(value / MIB)} MiB`;
  if (value >= KIB && value % KIB === 0) return `${grouped(value / KIB)} KiB`;
  return `${grouped(value)} ${value === 1 ? 'byte' : 'bytes'}`;
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const grouped = (value: number): string => NUMBERS.format(value);
