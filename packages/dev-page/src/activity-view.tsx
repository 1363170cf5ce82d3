/**
 * What happens in the session, the latest first: versions and problems, what this page has asked,
 * deliveries, and log lines, those of one request below each other.
 */
import type { ComponentChildren } from 'preact';
import { Payload, State } from '../../ui/src/shown-values.tsx';
import type { FeedEvent, LogLineView } from './page-api.ts';
import { feed } from './page-state.ts';

type Tone = Parameters<typeof State>[0]['tone'];

/** One thing that has happened. */
interface Happening {
  readonly event: FeedEvent;
  /** Log lines of the request; lines of a request that the page knows nothing else of have no event. */
  readonly lines: readonly LogLineView[];
}

export function ActivityView() {
  const { value } = feed;
  const folder = value.find(({ event }) => event === 'started')?.['folder'];
  const happened = happenings(value);
  return (
    <aside class="activity" aria-labelledby="activity">
      <h2 id="activity">What happens</h2>
      <ol>
        {happened.toReversed().map((one, at) => (
          <li key={happened.length - at}>
            <Entry {...one} />
            {one.lines.length > 0 && (
              <ul>
                {one.lines.map((line, index) => (
                  <li key={index}>
                    <Line line={line} folder={typeof folder === 'string' ? folder : ''} />
                  </li>
                ))}
              </ul>
            )}
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
  const all: Happening[] = [];
  const places = new Map<string, number>();
  for (const event of events) {
    const subject = subjectOf(event);
    const at = (subject === undefined ? undefined : places.get(subject)) ?? all.length;
    const { event: before = event, lines = [] } = all[at] ?? {};
    const isLine = event.event === 'log';
    all[at] = {
      event: isLine ? before : event,
      lines: isLine ? [...lines, event['line'] as LogLineView] : lines,
    };
    if (subject !== undefined) places.set(subject, at);
  }
  return all;
}

/** What an event is about; undefined for an event that stands alone. */
function subjectOf(event: FeedEvent): string | undefined {
  if (event.event === 'delivery') return (event['change'] as DeliveryChangeView).delivery.id;
  const { requestId } = event.event === 'log' ? (event['line'] as LogLineView) : event;
  return requestId ? String(requestId) : undefined;
}

function Entry({ event, lines }: Happening) {
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
      return <Title tone={toneOf(lines)}>{lines[0]?.requestId ? 'A request' : 'The platform'}</Title>;
    case 'delivery':
      return <Delivery change={event['change'] as DeliveryChangeView} />;
    case 'rendered':
      return <Details title={`Drawn in the terminal: ${event['component']}`} value={event['rendering']} />;
    case 'triggered':
      return <Title tone="info">{`Posted ${event['type']}, ${event['eventId']}.`}</Title>;
    case 'asked':
      return <Asked event={event} />;
  }
}

interface TitleProps {
  readonly tone: Tone;
  /** A figure at its end. */
  readonly beside?: string;
  readonly children: ComponentChildren;
}

const Title = ({ tone, beside, children }: TitleProps) => (
  <p class="title">
    <State tone={tone}>
      <span dir="auto">{children}</span>
    </State>
    {beside !== undefined && <small>{beside}</small>}
  </p>
);

function Asked({ event }: { readonly event: FeedEvent }) {
  const { title, status, durationMs, request, answer } = event;
  const isGood = typeof status === 'number' && status < 400;
  return (
    <>
      <Title tone={isGood ? 'good' : 'bad'} beside={`${durationMs} ms`}>
        {String(title)}: {String(status)}
      </Title>
      <details>
        <summary>request and answer</summary>
        <Payload value={cut(request)} label="request" />
        <Payload value={cut(answer)} label="answer" />
      </details>
    </>
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
    <>
      <Title tone={DELIVERY_TONES[change.change] ?? 'info'}>
        {change.delivery.type}: {change.change}
      </Title>
      <Details title="delivery" value={change} />
    </>
  );
}

/** A value, folded until the author opens it. */
const Details = ({ title, value }: { readonly title: string; readonly value: unknown }) => (
  <details>
    <summary>{title}</summary>
    <Payload value={cut(value)} label={title} />
  </details>
);

/** Attack: a value that is too large for a page to lay out. */
const CHARS_MAX = 50_000;

function cut(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? 'undefined');
  return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text;
}

const LEVEL_TONES: Readonly<Record<string, Tone>> = { error: 'bad', warn: 'warn' };

function toneOf(lines: readonly LogLineView[]): Tone {
  const tones = lines.map(({ level }) => LEVEL_TONES[level]);
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
      {level}
      {'  '}
      {text.split(PLACES).map((piece, at) =>
        at % 2 === 0 ? (
          piece
        ) : (
          <a key={at} href={`vscode://file${folder}/${piece}`}>
            {piece}
          </a>
        ),
      )}
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
