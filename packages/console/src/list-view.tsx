/** A list of the API: its filters in the URL, a page at a time, its rows as links. */
import type { ComponentChildren, TargetedEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask, type Items, withQuery } from './api.ts';
import { Failure, Shown, useAsked } from './asked.tsx';
import { addressOf, go, place } from './place.ts';

export interface Column<Row> {
  readonly head: string;
  /** Whether it is a number, at the end of its cell. */
  readonly isNumber?: true;
  readonly cell: (row: Row) => ComponentChildren;
}

/** A parameter of the list, by its name in the API. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  /** Values to choose from; any text without them. */
  readonly choices?: readonly string[];
  /** Whether it is a time. */
  readonly isTime?: true;
}

/** A list, declared once: its page follows from it. */
export interface Listing<Row> {
  /** Segment of its address. */
  readonly path: string;
  readonly title: string;
  /** Of the API. */
  readonly api: string;
  readonly filters: readonly Filter[];
  readonly columns: readonly Column<Row>[];
  readonly idOf: (row: Row) => string;
  /** Address of the row's own view, which its first cell links to. */
  readonly link?: (row: Row) => string;
  /** Whether it is one page. */
  readonly isWhole?: true;
  /** What such a row is, and what makes one. */
  readonly empty: string;
}

const PAGE_ITEMS = 50;

export function ListView<Row>({ listing }: { readonly listing: Listing<Row> }) {
  const { filters, api, title, isWhole } = listing;
  const { query } = place.value;
  const chosen = Object.fromEntries(filters.map(({ name }) => [name, query[name]]));
  const path = withQuery(api, { ...chosen, limit: isWhole ? undefined : String(PAGE_ITEMS) });
  const asked = useAsked<Items<Row>>(path);
  return (
    <section aria-labelledby="title">
      <header class="head">
        <h1 id="title">{title}</h1>
        <button type="button" class="button" aria-busy={asked.isAsking} onClick={asked.again}>
          <span>Refresh</span>
        </button>
      </header>
      {filters.length > 0 && <Filters listing={listing} query={query} />}
      <Shown asked={asked} rows={6}>
        {(first) => <Rows key={path} listing={listing} first={first} path={path} />}
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
            <select
              class="select"
              value={query[name] ?? ''}
              onChange={(event: TargetedEvent<HTMLSelectElement>) => change(name, event.currentTarget.value)}
            >
              <option value="">any</option>
              {choices.map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </select>
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
}

/** The first page, and those that were asked for after it. */
function Rows<Row>({ listing, first, path }: RowsProps<Row>) {
  const [more, setMore] = useState<readonly Items<Row>[]>([]);
  const [failure, setFailure] = useState<Error>();
  const [isAsking, setAsking] = useState(false);
  useEffect(() => setMore([]), [first]);
  const { next } = more.at(-1) ?? first;
  const items = [first, ...more].flatMap((page) => page.items);
  const read = async () => {
    setAsking(true);
    setFailure(undefined);
    await ask<Items<Row>>(`${path}&cursor=${encodeURIComponent(next ?? '')}`)
      .then((page) => setMore((before) => [...before, page]), setFailure)
      .finally(() => setAsking(false));
  };
  if (items.length === 0) return <Empty listing={listing} />;
  return (
    <>
      <Table listing={listing} items={items} />
      {failure && <Failure failure={failure} />}
      {next !== undefined && (
        <button type="button" class="button steady" aria-busy={isAsking} onClick={() => void read()}>
          <span>More</span>
        </button>
      )}
    </>
  );
}

export function Table<Row>({ listing, items }: { listing: Listing<Row>; items: readonly Row[] }) {
  const { columns, idOf, link, title } = listing;
  return (
    <div class="table" role="region" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope="col" class={isNumber && 'number'}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((row) => (
            <tr key={idOf(row)}>
              {columns.map(({ head, isNumber, cell }, index) => (
                <td key={head} class={isNumber && 'number'} dir="auto">
                  {index === 0 && link ? <a href={link(row)}>{cell(row)}</a> : cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
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
