/** A list of the API: its filters in the URL, a page at a time, its rows as links. */
import type { ComponentChildren, TargetedEvent } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Picked } from '../../ui/src/widgets.tsx';
import { ask, type Items, withQuery } from './api.ts';
import { Failure, Shown, useAsked } from './asked.tsx';
import { useFollowed } from './followed.ts';
import { State } from './parts.tsx';
import { addressOf, go, place } from './place.ts';
import { Table, type TableOf } from './table.tsx';

/** A parameter of the list, by its name in the API. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  /** Values to choose from; any text without them. */
  readonly choices?: readonly string[];
  /** Whether it is a time. */
  readonly isTime?: true;
  /** Whether a link chooses it, and it is shown where one has. */
  readonly isForLinks?: true;
}

/** A list, declared once: its page follows from it. */
export interface Listing<Row> extends TableOf<Row> {
  /** Segment of its address. */
  readonly path: string;
  /** Of the API. */
  readonly api: string;
  readonly filters: readonly Filter[];
  /** Whether it is one page. */
  readonly isWhole?: true;
  /** What else can be done with the list, at its head. */
  readonly actions?: (again: () => void) => ComponentChildren;
  /** What can be done with a row, at its end. */
  readonly rowActions?: (row: Row, again: () => void) => ComponentChildren;
  /** Of a list that can be followed: the row of an event. */
  readonly rowOf?: (event: never) => Row;
  /** What such a row is, and what makes one. */
  readonly empty: string;
}

const PAGE_ITEMS = 100;

export function ListView<Row>({ listing }: { readonly listing: Listing<Row> }) {
  const { filters, api, title, isWhole } = listing;
  const { query } = place.value;
  const chosen = Object.fromEntries(filters.map(({ name }) => [name, query[name]]));
  const path = withQuery(api, { ...chosen, limit: isWhole ? undefined : String(PAGE_ITEMS) });
  const asked = useAsked<Items<Row>>(path);
  const offered = filters.filter((filter) => filter.isForLinks === undefined || query[filter.name]);
  return (
    <section aria-labelledby="title">
      <header class="head">
        <h1 id="title">{title}</h1>
        <div class="buttons">
          {listing.actions?.(asked.again)}
          <button type="button" class="button" aria-busy={asked.isAsking} onClick={asked.again}>
            <span>Refresh</span>
          </button>
        </div>
      </header>
      {offered.length > 0 && <Filters listing={{ ...listing, filters: offered }} query={query} />}
      <Shown asked={asked} rows={6}>
        {(first) => <Rows key={path} {...{ listing, first, path }} again={asked.again} />}
      </Shown>
    </section>
  );
}

function Filters<Row>({
  listing,
  query,
}: {
  listing: Listing<Row>;
  query: Readonly<Record<string, string>>;
}) {
  const change = (name: string, value: string) =>
    go(addressOf(listing.path, { ...query, [name]: value.trim() }), true);
  return (
    // A search: nothing is sent.
    <form
      class="filters"
      role="search"
      aria-label={listing.title}
      onSubmit={(event) => event.preventDefault()}
    >
      {listing.filters.map(({ name, label, choices, isTime }) => (
        <label key={name}>
          <span>{label}</span>
          {isTime ? (
            <input
              class="textinput"
              type="datetime-local"
              value={localTime(query[name])}
              onChange={(event: TargetedEvent<HTMLInputElement>) =>
                change(name, isoTime(event.currentTarget.value))
              }
            />
          ) : choices === undefined ? (
            <input
              class="textinput"
              type="search"
              autocomplete="off"
              spellcheck={false}
              value={query[name] ?? ''}
              onChange={(event: TargetedEvent<HTMLInputElement>) => change(name, event.currentTarget.value)}
            />
          ) : (
            <Picked>
              <select
                class="select"
                value={query[name] ?? ''}
                onChange={(event: TargetedEvent<HTMLSelectElement>) =>
                  change(name, event.currentTarget.value)
                }
              >
                <option value="">any</option>
                {choices.map((choice) => (
                  <option key={choice}>{choice}</option>
                ))}
              </select>
            </Picked>
          )}
        </label>
      ))}
    </form>
  );
}

/** A time of the address as the browser's control takes it: in the zone of the person. */
function localTime(iso: string | undefined): string {
  const at = Date.parse(iso ?? '');
  if (Number.isNaN(at)) return '';
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const isoTime = (local: string): string => (local === '' ? '' : new Date(local).toISOString());

interface RowsProps<Row> {
  readonly listing: Listing<Row>;
  readonly first: Items<Row>;
  readonly path: string;
  readonly again: () => void;
}

/** The first page, and those that were asked for after it. */
function Rows<Row>({ listing, first, path, again }: RowsProps<Row>) {
  const [more, setMore] = useState<readonly Items<Row>[]>([]);
  const [failure, setFailure] = useState<Error>();
  const [isAsking, setAsking] = useState(false);
  useEffect(() => setMore([]), [first]);
  const last = more.at(-1) ?? first;
  const { next } = last;
  const read = async () => {
    if (isAsking) return;
    setAsking(true);
    setFailure(undefined);
    await ask<Items<Row>>(`${path}&cursor=${encodeURIComponent(next ?? '')}`)
      .then((page) => setMore((before) => [...before, page]), setFailure)
      .finally(() => setAsking(false));
  };
  const items = useMemo(() => [first, ...more].flatMap((page) => page.items), [first, more]);
  const { rows, bar } = useLive(listing, items, again);
  const { rowActions } = listing;
  if (rows.length === 0 && next === undefined)
    return (
      <>
        {bar}
        <Empty listing={listing} />
      </>
    );
  return (
    <>
      {bar}
      <Table listing={listing} items={rows} actions={rowActions && ((row: Row) => rowActions(row, again))} />
      {failure && <Failure failure={failure} />}
      {next !== undefined && (
        <More
          isAsking={isAsking}
          isGiven={last.items.length > 0 && failure === undefined}
          read={() => void read()}
        />
      )}
    </>
  );
}

interface MoreProps {
  readonly isAsking: boolean;
  /** Whether it is read as soon as the end is near; a page without rows is no reason to go on. */
  readonly isGiven: boolean;
  readonly read: () => void;
}

function More({ isAsking, isGiven, read }: MoreProps) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    if (!isGiven || isAsking || button.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && latest.current(), {
      rootMargin: '600px',
    });
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [isGiven, isAsking]);
  return (
    <button type="button" class="button steady" aria-busy={isAsking} onClick={read} ref={button}>
      <span>More</span>
    </button>
  );
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

/**
 * Rows as they change: those that are shown change in their place, and new ones wait until they are
 * asked for, so that nothing moves under the pointer.
 */
function useLive<Row>({ api, filters, rowOf, idOf }: Listing<Row>, items: readonly Row[], again: () => void) {
  const { query } = place.value;
  const [changed, setChanged] = useState<ReadonlyMap<string, Row>>(NONE);
  const isPast = query['from'] !== undefined || query['to'] !== undefined;
  const chosen = Object.fromEntries(filters.map(({ name }) => [name, query[name]]));
  useEffect(() => setChanged(NONE), [items]);
  const isLive = useFollowed<never>(
    rowOf === undefined || isPast ? undefined : withQuery(api, chosen),
    undefined,
    {
      got(event) {
        const row = rowOf?.(event);
        if (row !== undefined) setChanged((before) => new Map<string, Row>([...before, [idOf(row), row]]));
      },
      missed: again,
    },
  );
  const shown = useMemo(() => new Set(items.map(idOf)), [items]);
  const fresh = [...changed.keys()].filter((id) => !shown.has(id)).length;
  const rows = changed.size === 0 ? items : items.map((row) => changed.get(idOf(row)) ?? row);
  const bar = rowOf !== undefined && !isPast && (
    <p class="live" role="status">
      <State state={isLive ? 'live' : 'connecting'} />
      {fresh > 0 && (
        <button type="button" class="button" onClick={again}>
          {fresh} new
        </button>
      )}
    </p>
  );
  return { rows, bar };
}

/** What such a row is, or that the filters leave none. */
function Empty<Row>({ listing }: { listing: Listing<Row> }) {
  const { query } = place.value;
  const isFiltered = listing.filters.some(({ name }) => query[name]);
  return (
    <div class="empty">
      <p>{isFiltered ? 'Nothing fits these filters.' : listing.empty}</p>
      {isFiltered && (
        <a class="button" href={addressOf(listing.path)}>
          Show all
        </a>
      )}
    </div>
  );
}
