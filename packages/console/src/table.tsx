/**
 * A table of a list. Of many rows, those near the window alone are in the page; each is as high as
 * the others, so that nothing jumps.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly head: string;
  /** Whether it is a number, at the end of its cell. */
  readonly isNumber?: true;
  readonly cell: (row: Row) => ComponentChildren;
}

export interface TableOf<Row> {
  readonly title: string;
  readonly columns: readonly Column<Row>[];
  readonly idOf: (row: Row) => string;
  /** Address of the row's own view, which its first cell links to. */
  readonly link?: (row: Row) => string;
}

interface TableProps<Row> {
  readonly listing: TableOf<Row>;
  readonly items: readonly Row[];
  /** What can be done with a row, at its end. */
  readonly actions?: ((row: Row) => ComponentChildren) | undefined;
}

/** Up to so many rows, all are in the page. */
const ALL_MAX = 200;
/** Rows before and behind the window. */
const MARGIN = 40;
/** Of a row, before one was measured. */
const ROW_PX = 37;

interface Slice {
  readonly from: number;
  readonly to: number;
  readonly rowPx: number;
}

/** The rows that are near the window. */
function useSlice(count: number) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [slice, setSlice] = useState<Slice>({ from: 0, to: ALL_MAX, rowPx: ROW_PX });
  const isSliced = count > ALL_MAX;
  useLayoutEffect(() => {
    if (!isSliced) return;
    const look = () => {
      const row = body.current?.querySelector('tr:not([aria-hidden])')?.getBoundingClientRect();
      const rowPx = row?.height || ROW_PX;
      const top = -(body.current?.getBoundingClientRect().top ?? 0);
      const first = Math.min(Math.max(0, Math.floor(top / rowPx)), count);
      const from = Math.max(0, first - MARGIN);
      const to = Math.min(count, first + Math.ceil(innerHeight / rowPx) + MARGIN);
      setSlice((before) =>
        before.from === from && before.to === to && before.rowPx === rowPx ? before : { from, to, rowPx },
      );
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [isSliced, count]);
  return { body, ...(isSliced ? slice : { from: 0, to: count, rowPx: ROW_PX }) };
}

export function Table<Row>({ listing, items, actions }: TableProps<Row>) {
  const { columns, idOf, link, title } = listing;
  const { body, from, to, rowPx } = useSlice(items.length);
  const space = (rows: number) =>
    rows > 0 && (
      <tr aria-hidden="true" class="space" style={{ blockSize: `${rows * rowPx}px` }}>
        <td colSpan={columns.length} />
      </tr>
    );
  return (
    <div class="table" role="region" aria-label={title} tabIndex={0}>
      <table aria-rowcount={items.length + 1}>
        <thead>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope="col" class={isNumber && 'number'}>
                {head}
              </th>
            ))}
            {actions && (
              <th scope="col">
                <span class="hidden-words">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody ref={body}>
          {space(from)}
          {items.slice(from, to).map((row, index) => (
            <tr key={idOf(row)} aria-rowindex={from + index + 2}>
              {columns.map(({ head, isNumber, cell }, column) => (
                <td key={head} class={isNumber && 'number'} dir="auto">
                  {column === 0 && link ? <a href={link(row)}>{cell(row)}</a> : cell(row)}
                </td>
              ))}
              {actions && <td class="row-actions">{actions(row)}</td>}
            </tr>
          ))}
          {space(items.length - to)}
        </tbody>
      </table>
    </div>
  );
}
