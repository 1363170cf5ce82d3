/**
 * The log of an installation, or of an integration's own endpoint: followed as it is written, and
 * filtered by level, text, request and version. A line of a stack leads to the author's file.
 */
import { useEffect, useState } from 'preact/hooks';
import type { Installation, LogLine } from '../../client/src/generated.ts';
import { Picked } from '../../ui/src/widgets.tsx';
import { ask, type Items, withQuery } from './api.ts';
import { Failure, Shown, useAsked } from './asked.tsx';
import { useFollowed } from './followed.ts';
import { State, Time } from './parts.tsx';
import { addressOf, go, place } from './place.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'];
/** As many as are kept of a log. */
const LINES_MAX = 1_000;
const PAGE = 100;
/** Lines that are drawn at once. */
const SHOWN = 200;

export interface LogOf {
  readonly installation?: string | undefined;
  readonly integration?: string | undefined;
}

/** All lines that are kept, newest first. */
async function readAll(of: LogOf, signal: AbortSignal): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  for (let cursor: string | undefined; lines.length < LINES_MAX; ) {
    const page: Items<LogLine> = await ask(withQuery('/v1/logs', { ...of, limit: String(PAGE), cursor }), {
      signal,
    });
    lines.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  return lines;
}

/** The log in the address: of which installation, and the filters. */
export function LogsView() {
  const { installation = '', integration = '' } = place.value.query;
  const asked = useAsked<Items<Installation>>('/v1/installations?limit=100');
  const change = (value: string) => {
    const [kind = '', id = ''] = value.split(' ');
    go(
      addressOf('logs', {
        ...place.value.query,
        installation: undefined,
        integration: undefined,
        [kind]: id,
      }),
    );
  };
  const chosen = installation === '' ? `integration ${integration}` : `installation ${installation}`;
  const known = asked.value?.items ?? [];
  const isListed = known.some(({ id }) => id === installation);
  return (
    <section aria-labelledby="title">
      <header class="head">
        <h1 id="title">Logs</h1>
      </header>
      <div class="filters">
        <label class="wide">
          <span>Of</span>
          <Picked>
            <select class="select" value={chosen} onChange={(event) => change(event.currentTarget.value)}>
              {installation === '' && integration === '' && (
                <option value="integration ">Choose an installation</option>
              )}
              {installation !== '' && !isListed && <option value={chosen}>{installation}</option>}
              {integration !== '' && <option value={chosen}>The endpoint of {integration}</option>}
              {known.map((one) => (
                <option key={one.id} value={`installation ${one.id}`}>
                  {one.integration} at {one.organization}
                </option>
              ))}
            </select>
          </Picked>
        </label>
      </div>
      {asked.failure && <Failure failure={asked.failure} again={asked.again} />}
      {chosen === 'integration ' ? (
        <div class="empty">
          <p>What the code of an installation writes with console, and what fails in it. Choose whose log.</p>
        </div>
      ) : (
        <LogExplorer
          key={chosen}
          of={installation === '' ? { integration } : { installation }}
          integration={integration || known.find(({ id }) => id === installation)?.integration}
        />
      )}
    </section>
  );
}

interface LogExplorerProps {
  readonly of: LogOf;
  readonly integration?: string | undefined;
}

export function LogExplorer({ of, integration }: LogExplorerProps) {
  const path = withQuery('/v1/logs', { ...of });
  const asked = useAsked<readonly LogLine[]>(path, undefined, (signal) => readAll(of, signal));
  return (
    <>
      <LogFilters />
      <Shown asked={asked}>
        {(lines) => <Followed key={path} {...{ of, integration, lines }} again={asked.again} />}
      </Shown>
    </>
  );
}

/** Filters of a log, in the address. They are of what was read: nothing is asked for again. */
function LogFilters() {
  const { path, query } = place.value;
  const change = (name: string, value: string) =>
    go(addressOf(path.map(encodeURIComponent).join('/'), { ...query, [name]: value }), true);
  const line = (name: string, label: string) => (
    <label>
      <span>{label}</span>
      <input
        class="textinput"
        type="search"
        autocomplete="off"
        spellcheck={false}
        value={query[name] ?? ''}
        onInput={(event) => change(name, event.currentTarget.value)}
      />
    </label>
  );
  return (
    <form class="filters" role="search" aria-label="Log" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span>Level, and above</span>
        <Picked>
          <select
            class="select"
            value={query['level'] ?? 'debug'}
            onChange={(event) => change('level', event.currentTarget.value)}
          >
            {LEVELS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Picked>
      </label>
      {line('text', 'Text')}
      {line('request', 'Request')}
      {line('version', 'Version')}
    </form>
  );
}

function fits({ level, text, requestId, version }: LogLine): boolean {
  const query = place.value.query;
  return (
    LEVELS.indexOf(level) >= LEVELS.indexOf(query['level'] ?? 'debug') &&
    text.toLowerCase().includes((query['text'] ?? '').trim().toLowerCase()) &&
    requestId.includes((query['request'] ?? '').trim()) &&
    ['', String(version)].includes((query['version'] ?? '').trim())
  );
}

interface FollowedProps extends LogExplorerProps {
  readonly lines: readonly LogLine[];
  readonly again: () => void;
}

/** The lines, and those that are written meanwhile, which do not come in before they are asked for. */
function Followed({ of, integration, lines: first, again }: FollowedProps) {
  const [lines, setLines] = useState(first);
  const [fresh, setFresh] = useState<readonly LogLine[]>([]);
  const [isMore, setMore] = useState(false);
  useEffect(() => {
    setLines(first);
    setFresh([]);
  }, [first]);
  const [newest] = first;
  // An empty log has no line after which it is followed: what was written since comes as earlier
  // lines.
  const limit = newest === undefined ? String(PAGE) : undefined;
  const isLive = useFollowed<LogLine>(withQuery('/v1/logs', { ...of, limit }), newest?.id, {
    got: (line) => setFresh((before) => [line, ...before].slice(0, LINES_MAX)),
    missed: again,
  });
  const shown = lines.filter(fits);
  const fitting = fresh.filter(fits).length;
  const take = () => {
    setLines([...fresh, ...lines].slice(0, LINES_MAX));
    setFresh([]);
  };
  return (
    <>
      <p class="live" role="status">
        <State state={isLive ? 'live' : 'connecting'} />
        {fitting > 0 && (
          <button type="button" class="button" onClick={take}>
            {fitting} new
          </button>
        )}
      </p>
      {shown.length === 0 ? (
        <p class="hint">
          {lines.length === 0
            ? 'No lines. What the code writes with console, and what fails in it, is here.'
            : 'No line fits these filters.'}
        </p>
      ) : (
        <LogRows lines={isMore ? shown : shown.slice(0, SHOWN)} integration={integration} />
      )}
      {shown.length > SHOWN && !isMore && (
        <button type="button" class="button" onClick={() => setMore(true)}>
          All {shown.length} lines
        </button>
      )}
    </>
  );
}

interface LogRowsProps {
  readonly lines: readonly LogLine[];
  readonly integration?: string | undefined;
}

export const LogRows = ({ lines }: LogRowsProps) => (
  <ol class="log">
    {lines.map(({ id, at, level, text, requestId, version }) => (
      <li key={id}>
        <Time at={at} />
        <State state={level} />
        <pre dir="auto" title={`Request ${requestId}, version ${version}`}>
          <Stack text={text} />
        </pre>
      </li>
    ))}
  </ol>
);

/** A place in a file of the author: `(src/index.ts:5:29)`, or at the end of a line. */
const FRAME = /^(\s*at .{0,200}?)([\w@./-]{1,200}:\d{1,7}:\d{1,7})(\)?)$/;

/** A text, with the places of its stack marked. */
function Stack({ text }: { readonly text: string }) {
  if (!text.includes('\n')) return <>{text}</>;
  return (
    <>
      {text.split('\n').map((line, index) => {
        const [, before = '', where, after = ''] = FRAME.exec(line) ?? [];
        return (
          <span key={index} class={where === undefined ? undefined : 'frame-line'}>
            {index > 0 && '\n'}
            {where === undefined ? (
              line
            ) : (
              <>
                {before}
                {where.startsWith('@annex/') ? where : <strong>{where}</strong>}
                {after}
              </>
            )}
          </span>
        );
      })}
    </>
  );
}
