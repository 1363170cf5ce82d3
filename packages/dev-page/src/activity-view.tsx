/**
 * What happens in the session, the latest first: versions and problems, requests of this page and
 * of others, deliveries; each with its log lines and with what the code has fetched.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Icon } from '../../ui/src/icons.tsx';
import { Payload, State } from '../../ui/src/shown-values.tsx';
import type { FeedEvent, LogLineView } from './page-api.ts';
import { feed } from './page-state.ts';

type Tone = Parameters<typeof State>[0]['tone'];

/** One thing that has happened. */
interface Happening {
  /** Number of its first event. */
  readonly number: number;
  readonly event: FeedEvent;
  /**
   * Its log lines and its fetches, in their order. Those of a request that the page knows nothing
   * else of have one of them as their event.
   */
  readonly parts: readonly FeedEvent[];
}

export function ActivityView() {
  const { value } = feed;
  const folder = value.find(({ event }) => event === 'started')?.['folder'];
  // While somebody points at the rows, or goes through them by the keyboard, none moves.
  const heldFrom = useSignal(Number.POSITIVE_INFINITY);
  const hold = () => {
    heldFrom.value = Math.min(heldFrom.value, (value.at(-1)?.number ?? 0) + 1);
  };
  const release = () => {
    heldFrom.value = Number.POSITIVE_INFINITY;
  };
  const happened = happenings(value);
  const shown = happened.filter(({ number }) => number < heldFrom.value);
  return (
    <aside
      class="activity"
      aria-labelledby="activity"
      onPointerEnter={hold}
      onPointerLeave={release}
      onFocusIn={({ target }) => (target as Element).matches(':focus-visible') && hold()}
      onFocusOut={({ currentTarget, relatedTarget }) =>
        currentTarget.contains(relatedTarget as Node | null) || release()
      }
    >
      <h2 id="activity">What happens</h2>
      {shown.length < happened.length && (
        <button type="button" class="button newer" onClick={release}>
          {happened.length - shown.length} new
        </button>
      )}
      <ol>
        {shown.toReversed().map((one) => (
          <li key={one.number}>
            <Entry {...one} />
            <Parts parts={withoutRepeated(one.parts)} folder={typeof folder === 'string' ? folder : ''} />
          </li>
        ))}
      </ol>
    </aside>
  );
}

/**
 * Puts together what belongs to one request, or to one delivery: its log lines come behind it, or
 * while it runs, and of a delivery only its last change counts.
 */
function happenings(events: readonly FeedEvent[]): readonly Happening[] {
  const all: { number: number; event: FeedEvent; parts: FeedEvent[] }[] = [];
  const known = new Map<string, (typeof all)[number]>();
  for (const event of events) {
    const subject = subjectOf(event);
    let one = subject === undefined ? undefined : known.get(subject);
    if (one === undefined) {
      one = { number: event.number, event, parts: [] };
      all.push(one);
      if (subject !== undefined) known.set(subject, one);
    }
    if (event.event === 'log' || event.event === 'fetch') one.parts.push(event);
    else one.event = event;
  }
  return all;
}

/** What an event is about; undefined for an event that stands alone. */
function subjectOf(event: FeedEvent): string | undefined {
  if (event.event === 'delivery') return (event['change'] as DeliveryChangeView).delivery.id;
  const { requestId } = event.event === 'log' ? (event['line'] as LogLineView) : event;
  return requestId ? String(requestId) : undefined;
}

/** Without the log lines that say of a fetch what its own row says. */
function withoutRepeated(parts: readonly FeedEvent[]): readonly FeedEvent[] {
  const said = new Set(parts.flatMap(({ failure }) => (failure === undefined ? [] : `fetch: ${failure}`)));
  return parts.filter(({ line }) => !said.has((line as LogLineView | undefined)?.text ?? ''));
}

/** Log lines and fetches that a row shows at once; the others are folded. */
const PARTS_SHOWN = 12;

function Parts({ parts, folder }: { readonly parts: readonly FeedEvent[]; readonly folder: string }) {
  if (parts.length === 0) return null;
  const list = (some: readonly FeedEvent[]) => (
    <ul>
      {some.map((part) => (
        <li key={part.number}>
          {part.event === 'fetch' ? (
            <Fetched fetch={part} />
          ) : (
            <Line line={part['line'] as LogLineView} folder={folder} />
          )}
        </li>
      ))}
    </ul>
  );
  const others = parts.slice(PARTS_SHOWN);
  return (
    <>
      {list(parts.slice(0, PARTS_SHOWN))}
      {others.length > 0 && (
        <details>
          <summary>{others.length} more</summary>
          {list(others)}
        </details>
      )}
    </>
  );
}

function Entry({ event, parts }: Happening) {
  switch (event.event) {
    case 'started':
      return <State tone="info">The session has started.</State>;
    case 'live':
      return (
        <Title tone="good" beside={`${event['durationMs']} ms`}>
          Version {String(event['version'])} is live
        </Title>
      );
    case 'refused':
      return <Problems event={event} />;
    case 'failed':
      return <Title tone="bad">{String(event['message'])}</Title>;
    case 'log':
    case 'fetch':
      return <Title tone={toneOf(parts)}>{subjectOf(event) === undefined ? 'The platform' : 'A call'}</Title>;
    case 'delivery':
      return <Delivery change={event['change'] as DeliveryChangeView} />;
    case 'rendered':
      return (
        <Title tone="info" opened={<Payload value={cut(event['rendering'])} label="drawing" />}>
          Drawn in the terminal: {String(event['component'])}
        </Title>
      );
    case 'triggered':
      return <Title tone="info">{`Posted ${event['type']}, ${event['eventId']}.`}</Title>;
    case 'request':
      return <Requested event={event} />;
    case 'asked':
      return <Asked event={event} />;
  }
}

interface TitleProps {
  readonly tone: Tone;
  /** A figure at its end. */
  readonly beside?: string;
  /** What it shows once it is opened. */
  readonly opened?: ComponentChildren;
  readonly children: ComponentChildren;
}

function Title({ tone, beside, opened, children }: TitleProps) {
  const words = (
    <>
      <State tone={tone}>
        <span dir="auto">{children}</span>
      </State>
      {beside !== undefined && <small>{beside}</small>}
    </>
  );
  if (opened === undefined) return <p class="title">{words}</p>;
  return (
    <details>
      <summary class="title">
        {words}
        <Icon name="chevron" />
      </summary>
      {opened}
    </details>
  );
}

function toneOfStatus(status: unknown): Tone {
  if (typeof status !== 'number' || status === 0 || status >= 500) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

/** A request that others have sent to the endpoint. */
function Requested({ event }: { readonly event: FeedEvent }) {
  const { method, path, status, durationMs, installation, requestId } = event;
  const opened = (
    <dl class="facts">
      <dt>Installation</dt>
      <dd>{installation === undefined ? 'none has this endpoint' : <code>{String(installation)}</code>}</dd>
      <dt>Request</dt>
      <dd>
        <code>{String(requestId)}</code>
      </dd>
    </dl>
  );
  return (
    <Title tone={toneOfStatus(status)} beside={`${durationMs} ms`} opened={opened}>
      {`${method} ${path}: ${status || 'the client left'}`}
    </Title>
  );
}

const FETCH_LOOKS: Readonly<Partial<Record<Tone, string>>> = { bad: 'error', warn: 'warn' };

/** What the code has fetched, or why it was not answered. */
function Fetched({ fetch }: { readonly fetch: FeedEvent }) {
  const { method, url, status, durationMs, failure } = fetch;
  return (
    <p class={`lines ${FETCH_LOOKS[toneOfStatus(status)] ?? ''}`} dir="auto">
      <span>fetch</span>
      <span>
        {`${method} ${url}: ${status || 'no answer'}`}
        {failure !== undefined && `\n${failure}`}
      </span>
      <small>{String(durationMs)} ms</small>
    </p>
  );
}

function Asked({ event }: { readonly event: FeedEvent }) {
  const { title, status, durationMs, request, answer } = event;
  const opened = (
    <>
      <p class="fact">Request</p>
      <Payload value={cut(request)} label="request" />
      <p class="fact">Answer</p>
      <Payload value={cut(answer)} label="answer" />
    </>
  );
  return (
    <Title tone={toneOfStatus(status)} beside={`${durationMs} ms`} opened={opened}>
      {String(title)}: {String(status)}
    </Title>
  );
}

interface DeliveryChangeView {
  readonly change: string;
  readonly delivery: { readonly id: string; readonly type: string };
}

const DELIVERY_TONES: Readonly<Record<string, Tone>> = {
  delivered: 'good',
  failed: 'bad',
  attempted: 'warn',
};

function Delivery({ change }: { readonly change: DeliveryChangeView }) {
  return (
    <Title
      tone={DELIVERY_TONES[change.change] ?? 'info'}
      opened={<Payload value={cut(change)} label="delivery" />}
    >
      {change.delivery.type}: {change.change}
    </Title>
  );
}

/** Attack: a value that is too large for a page to lay out. */
const CHARS_MAX = 50_000;

function cut(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? 'undefined');
  return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text;
}

const LEVEL_TONES: Readonly<Record<string, Tone>> = { error: 'bad', warn: 'warn' };

function toneOf(parts: readonly FeedEvent[]): Tone {
  const lines = parts.map(({ line }) => line as LogLineView | undefined);
  const tones = lines.map((line) => LEVEL_TONES[line?.level ?? '']);
  return tones.find((tone) => tone === 'bad') ?? tones.find((tone) => tone === 'warn') ?? 'info';
}

/**
 * Places in the author's sources, as stack traces have them. Attack: a text that leads an editor out
 * of the folder: no part of a path begins with a dot.
 */
const PLACES = /(?<=[( ])((?:[\w-][\w.@-]*\/)*[\w-][\w.@-]*\.[cm]?[jt]sx?:\d{1,7}:\d{1,7})/;

/** A log line; a place in a source opens the author's editor there. */
function Line({ line: { level, text }, folder }: { readonly line: LogLineView; readonly folder: string }) {
  return (
    <p class={`lines ${level}`} dir="auto">
      <span>{level}</span>
      <span>
        {text.split(PLACES).map((piece, at) =>
          at % 2 === 0 ? (
            piece
          ) : (
            <a key={at} href={`vscode://file${folder}/${piece}`}>
              {piece}
            </a>
          ),
        )}
      </span>
    </p>
  );
}

interface ProblemView {
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

function Problems({ event }: { readonly event: FeedEvent }) {
  const problems = event['problems'] as readonly ProblemView[];
  return (
    <>
      <Title tone="bad">
        Not published.{' '}
        {event['version'] === null ? 'Nothing is live yet.' : `Version ${event['version']} goes on.`}
      </Title>
      <ul>
        {problems.map(({ message, file, line, column, hint }) => (
          <li key={`${file} ${line} ${column} ${message}`} dir="auto">
            {file !== undefined && <code>{[file, line, column].filter(Boolean).join(':')}</code>} {message}{' '}
            {hint}
          </li>
        ))}
      </ul>
    </>
  );
}
