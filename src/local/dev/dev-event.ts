/**
 * What happens in a session of `annex dev`: as `--json` prints it, one a line, as the page receives
 * it, and as people see it, one below the other.
 */
import Type, { type Static } from 'typebox';
import type { DeliveryChange, LogLine, Rendering } from '../../../packages/client/src/index.ts';
import { type Output, type Piece, paint } from '../../cli/terminal/output.ts';
import { printProblems, type ReportedFiles } from '../../cli/terminal/problem-report.ts';
import { showTree } from '../../cli/traffic/content-tree.ts';
import { showChange } from '../../cli/traffic/deliveries.ts';
import { showLine } from '../../cli/traffic/log-lines.ts';
import { PROBLEM } from '../../cli/upload/prepared-upload.ts';
import type { Problem } from '../../model/problem.ts';

const ANY = Type.Object({}, { additionalProperties: Type.Unknown() });

export const DEV_EVENT = Type.Union([
  Type.Object({
    event: Type.Literal('started'),
    folder: Type.String(),
    service: Type.String({ description: 'The API of the service.' }),
    page: Type.String({ description: 'Address of the page.' }),
    inspector: Type.Optional(Type.String({ description: 'Host and port for debuggers.' })),
  }),
  Type.Object({
    event: Type.Literal('live'),
    integration: Type.String(),
    version: Type.Integer(),
    durationMs: Type.Integer({ description: 'From the first change of a file that is in it.' }),
    installation: Type.String(),
    status: Type.Enum(['active', 'pending', 'paused']),
    endpoint: Type.String(),
    problems: Type.Array(PROBLEM, { description: 'Warnings.' }),
  }),
  Type.Object({
    event: Type.Literal('refused'),
    version: Type.Union([Type.Integer(), Type.Null()], { description: 'The version that goes on.' }),
    problems: Type.Array(PROBLEM),
  }),
  Type.Object({
    event: Type.Literal('failed'),
    message: Type.String(),
    hint: Type.Optional(Type.String()),
  }),
  Type.Object({ event: Type.Literal('log'), line: ANY }),
  Type.Object({ event: Type.Literal('delivery'), change: ANY }),
  Type.Object({ event: Type.Literal('rendered'), component: Type.String(), rendering: ANY }),
  Type.Object({
    event: Type.Literal('triggered'),
    type: Type.String(),
    eventId: Type.String(),
    deliveries: Type.Integer(),
  }),
  Type.Object({
    event: Type.Literal('request'),
    requestId: Type.String({ description: 'As in its log lines.' }),
    method: Type.String(),
    path: Type.String({ description: 'Below the endpoint, without the query.' }),
    status: Type.Integer({ description: 'Of the answer; 0 if its client left before.' }),
    durationMs: Type.Integer(),
    installation: Type.Optional(Type.String({ description: 'Absent where nothing has this endpoint.' })),
  }),
  Type.Object({
    event: Type.Literal('fetch'),
    requestId: Type.String({ description: 'Of the request, or of the delivery, whose code fetched.' }),
    method: Type.String(),
    url: Type.String({ description: 'Without credentials and query.' }),
    status: Type.Integer({ description: 'Of the answer; 0 if there was none.' }),
    durationMs: Type.Integer(),
    failure: Type.Optional(Type.String({ description: 'Why there was none.' })),
  }),
  Type.Object({
    event: Type.Literal('asked'),
    title: Type.String({ description: 'What the page has asked for.' }),
    status: Type.Integer({ description: 'Of the answer; 0 if there was none.' }),
    durationMs: Type.Integer(),
    request: Type.Unknown(),
    answer: Type.Unknown({ description: 'The beginning, as text, where it is long.' }),
    requestId: Type.Optional(Type.String({ description: 'As in its log lines.' })),
  }),
]);

type Declared = Static<typeof DEV_EVENT>;

/** Problems with the files that they are in, for a reader at a terminal. */
export interface ProblemReport {
  readonly problems: readonly Problem[];
  readonly files: ReportedFiles;
}

/** The same with the types of the API. */
export type DevEvent =
  | Exclude<Declared, { event: 'log' | 'delivery' | 'rendered' }>
  | { readonly event: 'log'; readonly line: LogLine }
  | { readonly event: 'delivery'; readonly change: DeliveryChange }
  | { readonly event: 'rendered'; readonly component: string; readonly rendering: Rendering };

/** Events that a new listener gets first. */
const KEPT_MAX = 300;

export type Listener = (event: DevEvent) => void;

export class EventFeed {
  readonly #kept: DevEvent[] = [];
  readonly #listeners = new Set<Listener>();

  emit(event: DevEvent): void {
    this.#kept.push(event);
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
    for (const listener of this.#listeners) listener(event);
  }

  /** Calls it with the kept events, then with each new one. @returns ends it */
  listen(listener: Listener): () => void {
    for (const event of this.#kept) listener(event);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export const KEYS_HELP = 'o open the page · r render · t trigger an event · c clear · q quit';

export function showEvent(
  output: Pick<Output, 'line'>,
  event: DevEvent,
  report: ProblemReport | undefined,
): void {
  switch (event.event) {
    case 'started':
      output.line(paint('bold', 'annex dev'), ` watches ${event.folder}. Ctrl-C ends it.`);
      output.line('  page  ', paint('cyan', event.page));
      output.line(`  API   ${event.service}`);
      if (event.inspector !== undefined) output.line(`  debuggers  ${event.inspector}`);
      return;
    case 'live':
      if (report !== undefined) printProblems(report.problems, report.files, output);
      output.line(
        paint('green', 'live '),
        `${event.integration}, version ${event.version}`,
        paint('dim', ` (${event.durationMs} ms)  ${event.endpoint}`),
      );
      if (event.status === 'pending')
        output.line(paint('yellow', 'pending '), 'Its configuration is incomplete: the page has its form.');
      return;
    case 'refused':
      if (report !== undefined) printProblems(report.problems, report.files, output);
      output.line(
        paint('red', 'not published '),
        event.version === null ? 'Nothing is live yet.' : `Version ${event.version} goes on.`,
      );
      return;
    case 'failed':
      output.line(paint('red', 'error: '), event.message);
      if (event.hint !== undefined) output.line(event.hint);
      return;
    case 'log':
      return showLine(output, event.line);
    case 'delivery':
      return showChange(output, event.change);
    case 'rendered':
      output.line(paint('bold', event.component), event.rendering.type === 'element' ? '' : ' is complete');
      if (event.rendering.type === 'element') showTree(output, event.rendering.element);
      return;
    case 'triggered':
      output.line(
        paint('dim', `posted ${event.type}, ${event.eventId}: ${deliveriesText(event.deliveries)}`),
      );
      return;
    case 'fetch':
      output.line(
        paint('dim', '  fetched '),
        ...answered(event, `${event.method} ${event.url}`),
        ...(event.failure === undefined ? [] : [`  ${event.failure}`]),
      );
      return;
    case 'request':
      output.line(...answered(event, `${event.method} ${event.path}`));
      return;
    case 'asked':
      output.line(...answered(event, event.title));
  }
}

/** A request in a line: green where it was answered well. */
function answered(
  { status, durationMs }: { readonly status: number; readonly durationMs: number },
  title: string,
): readonly Piece[] {
  const isGood = status > 0 && status < 400;
  return [
    paint(isGood ? 'green' : 'red', `${status || 'lost'} `),
    title,
    paint('dim', ` (${durationMs} ms)`),
  ];
}

const deliveriesText = (count: number): string =>
  count === 0 ? 'no recipient handles it here' : `${count} ${count === 1 ? 'delivery' : 'deliveries'}`;
