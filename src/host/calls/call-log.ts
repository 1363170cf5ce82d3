/**
 * The call log: writes what calls leave behind to the log of the installation, the metrics and the
 * log of the operator.
 *
 * Positions in stack traces are mapped here to the author's files: the source map never goes into a
 * cell. Lines keep their order while a map is being fetched.
 *
 * Every text is written without the secrets of its target (docs/contract/calls.md#logs). Requests
 * that are refused before a call begins get a bounded number of lines; further ones are counted in
 * one line (`RefusalLines`).
 */
import { LRUCache } from 'lru-cache';
import type { AnnexError } from '../../errors.ts';
import type { LimitMet, LimitName } from '../../limits.ts';
import { limitSentence } from '../../model/limit-met.ts';
import { RateLimit } from '../../model/rate-limit.ts';
import { Redactor, secretsOf } from '../../model/redaction.ts';
import { scriptKey, scriptVersion, type Target } from '../../model/target.ts';
import { type CallEnd, type LogLevel, scriptUrl } from '../../protocol/wire.ts';
import { createStackMapper } from '../bundle/source-map.ts';
import type { SuspicionChange } from '../cells/suspicion.ts';
import type { Registry } from '../store/integrations/registry.ts';
import type { LogLine, Logs } from '../store/logs.ts';
import type { WebhookSecrets } from '../store/webhooks/webhook-secrets.ts';
import type { CallObserver, SeenFetch } from './call.ts';
import type { CallMetrics } from './call-metrics.ts';
import type { CircuitOpened } from './circuit-breaker.ts';
import { limitMet } from './outcome.ts';
import { withoutPreludeFrames } from './prelude-stack-frames.ts';

const MAPPERS_MAX = 200;
/**
 * A decoded map takes some 35 times its text. Attack: authors publish large maps and throw once, to
 * fill the heap.
 */
const MAPPER_BYTES_PER_MAP_BYTE = 35;
const MAPPER_BYTES_MAX = 256 * 1024 * 1024;
const REDACTORS_MAX = 2_000;
/**
 * The secrets of a target can be a hundred kilobytes and more; those of many are not to fill the
 * heap.
 */
const REDACTOR_BYTES_MAX = 64 * 1024 * 1024;
/** Lines that wait for the map of one script; further ones are dropped, as in a full log. */
const WAITING_MAX = 1_000;

type MapText = (text: string) => string;

interface Line {
  readonly target: Target;
  readonly requestId: string;
  readonly level: LogLevel;
  readonly text: string;
  readonly at: number;
}

export interface CallLogDeps {
  readonly logs: Pick<Logs, 'append'>;
  readonly registry: Pick<Registry, 'sourceMap'>;
  readonly metrics: CallMetrics;
  /** Secrets that code of an installation has seen beside its environment. */
  readonly secrets: Pick<WebhookSecrets, 'shownTo'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Milliseconds of the monotonic clock. */
  readonly monotonicNow: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Lines that the log of an installation keeps. */
  readonly linesKept: number;
  /** Tells a session of each fetch. */
  readonly fetched?: (requestId: string, fetch: SeenFetch) => void;
  /** Reports to the operator that an installation is kept apart, or no longer. */
  contained(change: SuspicionChange): void;
  /** Reports to the operator a call that ended with another outcome than `ok` or `canceled`. */
  failed(target: Target, requestId: string, end: CallEnd): void;
}

export class CallLog implements CallObserver {
  readonly #deps: CallLogDeps;
  readonly #mappers = new LRUCache<string, MapText>({
    max: MAPPERS_MAX,
    maxSize: MAPPER_BYTES_MAX,
  });
  /**
   * By the secrets object of an environment, so a new one is made when the environment was built
   * anew; and by the list of other secrets that were shown.
   */
  readonly #redactors = new LRUCache<object, Redactor>({
    max: REDACTORS_MAX,
    maxSize: REDACTOR_BYTES_MAX,
    sizeCalculation: ({ bytes }) => bytes,
  });
  /** Lines that wait for the map of their script. */
  readonly #waiting = new Map<string, Line[]>();
  readonly #refusals: RefusalLines;
  readonly fetched: CallObserver['fetched'];

  constructor(deps: CallLogDeps) {
    this.#deps = deps;
    const { fetched } = deps;
    // A path may hold a key, as that of a webhook does.
    this.fetched =
      fetched &&
      ((target, requestId, { url, failure, ...fetch }) =>
        fetched(requestId, {
          ...{ ...fetch, url: this.#redacted(target, url) },
          ...(failure !== undefined && { failure: this.#redacted(target, failure) }),
        }));
    this.#refusals = new RefusalLines({ ...deps, write: (line) => deps.logs.append(line) });
  }

  /** Writes refusals that have only been counted so far. */
  close(): void {
    this.#refusals.close();
  }

  log(target: Target, requestId: string, level: LogLevel, raw: string): void {
    const text = withoutPreludeFrames(raw);
    const line = { target, requestId, level, text, at: this.#deps.wallNow() };
    const script = scriptKey(target.integration, target.version);
    const waiting = this.#waiting.get(script);
    if (waiting) {
      if (waiting.length < WAITING_MAX) waiting.push(line);
      return;
    }
    if (!text.includes(scriptUrl(script))) return this.#write(line, text);
    const mapper = this.#mappers.get(script);
    if (mapper) return this.#write(line, mapper(text));
    this.#waiting.set(script, [line]);
    void this.#fetchMapper(script);
    return undefined;
  }

  ended(target: Target, requestId: string, end: CallEnd, wallMs: number): void {
    this.#deps.metrics.ended(end, wallMs);
    this.#record(target, requestId, end, end.outcome === 'loadShed' ? end.outcome : undefined);
  }

  endedByClient(target: Target, requestId: string, end: CallEnd, wallMs: number): void {
    this.#deps.metrics.ended(end, wallMs);
    this.#record(target, requestId, end, 'slowClient');
  }

  /**
   * @param countedAs where no code of the tenant is the reason: its name in the count of refusals
   */
  #record(target: Target, requestId: string, end: CallEnd, countedAs: string | undefined): void {
    if (end.limit) this.#deps.metrics.limitMet(end.limit.name);
    for (const name of end.met ?? []) this.#deps.metrics.limitMet(name);
    if (end.outcome === 'ok' || end.outcome === 'canceled') return;
    const { detail, ...rest } = end;
    const reported = detail === undefined ? rest : { ...rest, detail: this.#redacted(target, detail) };
    this.#deps.failed(target, requestId, reported);
    // An exception has left a line with its stack; for every other outcome, the host writes the
    // only line.
    if (end.outcome === 'exception') return;
    if (countedAs !== undefined && !this.#refusals.mayWrite(target, countedAs)) return;
    const limit = limitMet(end, target.limits);
    const why = [limit && limitSentence(limit), end.detail].filter(Boolean).join(' ');
    this.log(target, requestId, 'error', `The call ended with ${end.outcome}.${why && ` ${why}`}`);
  }

  refused(target: Target, requestId: string, limit: LimitMet): void {
    this.#deps.metrics.limitMet(limit.name);
    if (!this.#refusals.mayWrite(target, limit.name)) return;
    this.log(target, requestId, 'warn', `A request was refused. ${limitSentence(limit)}`);
  }

  /**
   * A request to the product's API failed. Its lines are paced like those of refused requests.
   *
   * @param reason its name in the count of those that have no line of their own
   */
  productFailed(target: Target, requestId: string, reason: string, text: string): void {
    if (this.#refusals.mayWrite(target, reason)) this.log(target, requestId, 'warn', text);
  }

  waits(behind: LimitName): void {
    this.#deps.metrics.limitMet(behind);
  }

  shed(target: Target, requestId: string, { code, message, limit }: AnnexError): void {
    if (limit) this.#deps.metrics.limitMet(limit.name);
    const end: CallEnd = { outcome: 'loadShed', cpuMs: 0, detail: message };
    this.#deps.metrics.ended(end, 0);
    this.#record(target, requestId, end, limit?.name ?? code);
  }

  turnedAway(): void {
    this.#deps.metrics.shed();
  }

  cooling(target: Target, requestId: string, { coolMs, breaches }: CircuitOpened): void {
    this.#deps.metrics.coolDownBegun();
    const until = new Date(this.#deps.wallNow() + coolMs).toISOString();
    const text =
      `The circuit breaker is open: ${breaches} recent calls ended over a limit, and calls are refused until ${until} ` +
      `(${coolMs} ms). Then one call is let in. If it stays within its limits, the circuit breaker closes; if not, it opens for ` +
      'twice as long. The lines before this one name the limits: do less in a call, or spread the work over more calls.';
    this.log(target, requestId, 'error', text);
  }

  /** An installation is kept apart, or no longer. @param script key of the last one that it ran */
  contained(change: SuspicionChange, script: string): void {
    const at = this.#deps.wallNow();
    const { level, text } = suspicionText(change, at);
    const { tenant } = change;
    // The line belongs to no single request.
    const line = { tenant, version: scriptVersion(script), requestId: '', level, text, at };
    this.#deps.logs.append(line);
    this.#deps.contained(change);
  }

  async #fetchMapper(script: string): Promise<void> {
    let isRead = true;
    const map = await this.#deps.registry.sourceMap(script).catch(() => {
      isRead = false;
      return undefined;
    });
    const mapper: MapText = map === undefined ? (text) => text : createStackMapper(map, scriptUrl(script));
    // Not kept if the store did not answer: the next line asks again.
    if (isRead)
      this.#mappers.set(script, mapper, { size: 1 + (map?.length ?? 0) * MAPPER_BYTES_PER_MAP_BYTE });
    const lines = this.#waiting.get(script) ?? [];
    this.#waiting.delete(script);
    for (const line of lines) this.#write(line, mapper(line.text));
  }

  #redacted({ environment, tenant }: Target, text: string): string {
    const own = this.#redactor(environment.secrets, () => secretsOf(environment)).redact(text);
    const shown = this.#deps.secrets.shownTo(tenant);
    return shown.length === 0 ? own : this.#redactor(shown, () => shown).redact(own);
  }

  /** @param of the object that identifies the secrets: it stays the same as long as they do */
  #redactor(of: object, secrets: () => Iterable<string>): Redactor {
    let redactor = this.#redactors.get(of);
    if (redactor === undefined) {
      redactor = new Redactor(secrets());
      this.#redactors.set(of, redactor);
    }
    return redactor;
  }

  #write({ target, requestId, level, at }: Line, raw: string): void {
    const { tenant, version } = target;
    const text = this.#redacted(target, raw);
    this.#deps.logs.append({ tenant, version, requestId, level, text, at });
  }
}

const WHY =
  'Code that grows memory without end, or that the engine cannot interrupt (an array filled, sorted or searched over ' +
  'billions of elements, a rejected proxy), does that. The lines before this one name the calls that were in flight: do ' +
  'less in one call, and bound what it keeps.';

/**
 * Log lines for authors: their integration is kept apart because its cells crash, or no longer.
 *
 * @param now milliseconds since 1970
 */
function suspicionText(change: SuspicionChange, now: number): { level: LogLevel; text: string } {
  const times = change.deaths === 1 ? 'once' : `${change.deaths} times`;
  switch (change.now) {
    case 'suspected': {
      const others =
        change.among === 1
          ? 'alone'
          : `with ${change.among - 1} other installation${change.among > 2 ? 's' : ''}`;
      const text =
        `The process that runs the integration died while it was executing, ${others}; so far this has happened ${times}. ` +
        'It runs in another process, apart from the others, until it has worked there for a while.';
      return { level: 'warn', text };
    }
    case 'cleared':
      return {
        level: 'info',
        text: 'The integration has worked without crashing: it is no longer kept apart.',
      };
    case 'quarantined': {
      const text = `The integration is in quarantine: the process that runs it died ${times} while it was executing. It runs alone from now on. ${WHY}`;
      return { level: 'error', text };
    }
    case 'paused': {
      const until = new Date(now + change.pauseMs).toISOString();
      const text =
        `The integration has crashed its process again, ${times} in all. Calls are refused until ${until} ` +
        `(${change.pauseMs} ms), and for twice as long after the next crash. ${WHY}`;
      return { level: 'error', text };
    }
    case 'released':
      return {
        level: 'info',
        text: 'The integration has not crashed in quarantine: the quarantine has ended.',
      };
  }
}

/** One in so many of the lines that a log keeps may be such lines at once. */
const SHARE_OF_LOG = 50;
/** After this time there may be one more. */
const LINE_EVERY_MS = 10 * 60_000;

interface RefusalLinesDeps {
  /** Lines that the log of an installation keeps. */
  readonly linesKept: number;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Milliseconds of the monotonic clock. */
  readonly monotonicNow: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly write: (line: LogLine) => void;
}

/** Requests of one installation that were counted and have no line yet. */
interface Counted {
  readonly since: number;
  version: number;
  readonly timesByReason: Map<string, number>;
  readonly cancel: () => void;
}

/**
 * Bounds the log lines about requests that never become calls, or that run out of time because of
 * their client.
 *
 * Attack: a stranger sends thousands of bodies that are too large, and the log, which keeps only
 * its newest lines, is about nothing else. So each installation has a token bucket of such lines.
 * While it is empty, requests are counted, and one line says later how many there were. The metrics
 * count each of them in any case.
 *
 * It decides and counts; the call log writes the line of a single request.
 */
export class RefusalLines {
  readonly #deps: RefusalLinesDeps;
  readonly #lines: RateLimit;
  readonly #counted = new Map<string, Counted>();

  constructor(deps: RefusalLinesDeps) {
    this.#deps = deps;
    const timesMax = Math.max(1, Math.floor(deps.linesKept / SHARE_OF_LOG));
    this.#lines = new RateLimit({
      timesMax,
      windowMs: timesMax * LINE_EVERY_MS,
      monotonicNow: deps.monotonicNow,
    });
  }

  /**
   * @param reason why it was refused, for instance the name of a limit @returns false where the
   * request was counted instead
   */
  mayWrite({ tenant, version }: Pick<Target, 'tenant' | 'version'>, reason: string): boolean {
    const counted = this.#counted.get(tenant);
    if (counted === undefined && this.#lines.take(tenant)) return true;
    const { timesByReason } = counted ?? this.#begin(tenant, version);
    timesByReason.set(reason, (timesByReason.get(reason) ?? 0) + 1);
    if (counted !== undefined) counted.version = version;
    return false;
  }

  /** Writes what was counted so far. */
  close(): void {
    for (const tenant of [...this.#counted.keys()]) this.#write(tenant);
  }

  #begin(tenant: string, version: number): Counted {
    // By then the bucket has room for one line.
    const cancel = this.#deps.after(LINE_EVERY_MS, () => {
      this.#lines.take(tenant);
      this.#write(tenant);
    });
    const counted = {
      since: this.#deps.wallNow(),
      version,
      timesByReason: new Map<string, number>(),
      cancel,
    };
    this.#counted.set(tenant, counted);
    return counted;
  }

  #write(tenant: string): void {
    const counted = this.#counted.get(tenant);
    if (counted === undefined) return;
    this.#counted.delete(tenant);
    counted.cancel();
    const { version, since, timesByReason } = counted;
    const text = summary(timesByReason, since);
    this.#deps.write({
      tenant,
      version,
      requestId: '',
      level: 'warn',
      text,
      at: this.#deps.wallNow(),
    });
  }
}

/**
 * For instance "812 more requests were refused or timed out since 2026-01-02T03:04:05.678Z
 * (requestBodyBytes: 812). …"
 */
function summary(timesByReason: ReadonlyMap<string, number>, since: number): string {
  let times = 0;
  for (const some of timesByReason.values()) times += some;
  const reasons = [...timesByReason].map(([reason, some]) => `${reason}: ${some}`).join(', ');
  const requests = times === 1 ? 'request was' : 'requests were';
  return (
    `${times} more ${requests} refused or timed out since ${new Date(since).toISOString()} (${reasons}). ` +
    'They are counted, so that the other lines of this log are kept; the metrics count each of them.'
  );
}
