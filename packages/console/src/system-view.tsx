/** What the node that answers was started with: health, layers of confinement, settings, limits. */
import type { Settings } from '../../client/src/generated.ts';
import { Shown, useAsked } from './asked.tsx';
import { Facts, State, Time } from './parts.tsx';
import { Table } from './table.tsx';

type Setting = Settings['settings'][number];
type Limit = Settings['limits'][number];

type Layers = Readonly<Record<string, { readonly on: boolean; readonly detail: string }>>;

interface Health {
  readonly status: string;
  readonly cells: { readonly count: number; readonly layers: Layers };
  readonly bundlers: { readonly layers: Layers };
  readonly database: {
    readonly integrity: string;
    readonly checkedAt: string | null;
    readonly tables: number;
  };
}

const SETTINGS = {
  title: 'Settings',
  idOf: ({ flag }: Setting) => flag,
  columns: [
    { head: 'Setting', cell: ({ flag }: Setting) => <code>--{flag}</code> },
    {
      head: 'Value',
      cell: ({ value, isSecret, origin }: Setting) =>
        value ?? (isSecret && origin !== 'default' ? 'a secret' : ''),
    },
    { head: 'From', cell: ({ origin }: Setting) => <State state={origin} /> },
    { head: 'What it is', cell: ({ help }: Setting) => <span title={help}>{help}</span> },
  ],
};

const LIMITS = {
  title: 'Limits',
  idOf: ({ name }: Limit) => name,
  columns: [
    { head: 'Limit', cell: ({ name }: Limit) => <code>{name}</code> },
    { head: 'In force', isNumber: true, cell: ({ value }: Limit) => value.toLocaleString('en') },
    { head: 'Default', isNumber: true, cell: (limit: Limit) => limit.default.toLocaleString('en') },
    { head: 'From', cell: (limit: Limit) => <State state={isChanged(limit) ? 'variable' : 'default'} /> },
  ],
} as const;

const isChanged = (limit: Limit): boolean => limit.value !== limit.default;

/** What differs from the defaults comes first. */
const changedFirst = <Row,>(rows: readonly Row[], is: (row: Row) => boolean): readonly Row[] => [
  ...rows.filter(is),
  ...rows.filter((row) => !is(row)),
];

export function SystemView() {
  const health = useAsked<Health>('/readyz');
  const asked = useAsked<Settings>('/v1/settings');
  return (
    <section aria-labelledby="title">
      <header class="head">
        <h1 id="title">System</h1>
      </header>
      <Shown asked={health} rows={2}>
        {({ status, cells, bundlers, database }) => (
          <>
            <Facts
              facts={[
                ['State', <State key="" state={status} />],
                ['Cells', cells.count],
                ['Database', <State key="" state={database.integrity} />],
                ['Checked', database.checkedAt && <Time at={database.checkedAt} />],
                ['Tables', database.tables],
              ]}
            />
            <h2>Confinement of cells</h2>
            <Facts facts={layersOf(cells.layers)} />
            <h2>Confinement of bundlers</h2>
            <Facts facts={layersOf(bundlers.layers)} />
          </>
        )}
      </Shown>
      <Shown asked={asked}>
        {({ settings, limits }) => (
          <>
            <h2>Settings</h2>
            <Table listing={SETTINGS} items={changedFirst(settings, ({ origin }) => origin !== 'default')} />
            <h2>Limits</h2>
            <Table listing={LIMITS} items={changedFirst(limits, isChanged)} />
          </>
        )}
      </Shown>
    </section>
  );
}

/** A layer in words: `newPrivileges` is “New privileges”. */
const layersOf = (layers: Layers): [string, string][] =>
  Object.entries(layers).map(([name, { on, detail }]) => [
    name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    on ? detail : `Off: ${detail}`,
  ]);
