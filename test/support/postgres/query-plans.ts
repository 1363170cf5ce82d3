/**
 * What PostgreSQL would do to run a statement, and what of it takes longer the longer a table is.
 */
import type { ClientBase } from 'pg';

/** A statement as the driver sent it. */
export interface Sent {
  /** Of a prepared statement. */
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Plan Rows': number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows that a statement may sort: a batch, and not a table. */
const SORTED_MAX = 2_000;
const READS_INDEX = /^(Index (Only )?Scan|Bitmap Index Scan)/;

/**
 * The steps of a statement that read a whole table or index, or sort many rows.
 *
 * @param tables the long tables
 * @param plan `custom`: made for these values; `generic`: made once, for any values, as for
 *   statements that are prepared
 */
export async function slowSteps(
  client: ClientBase,
  { text, values }: Sent,
  tables: RegExp,
  plan: 'custom' | 'generic',
): Promise<string[]> {
  await client.query('begin');
  try {
    await client.query(`set local plan_cache_mode = force_${plan}_plan`);
    await client.query(`prepare asked as ${text}`);
    const literals = values.map((value, index) => literal(client, value, typeIn(text, index)));
    const call = literals.length === 0 ? 'asked' : `asked (${literals.join(', ')})`;
    const { rows } = await client.query(`explain (format json) execute ${call}`);
    return stepsOf(rows[0]['QUERY PLAN'][0].Plan as PlanNode, false).filter((step) => tables.test(step));
  } finally {
    await client.query('deallocate all');
    await client.query('rollback');
  }
}

function stepsOf(node: PlanNode, isBounded: boolean): string[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '' } = node;
  const children = node.Plans ?? [];
  const own: string[] = [];
  if (type === 'Seq Scan' || type === 'Parallel Seq Scan') own.push(`${type} on ${table}`);
  if (READS_INDEX.test(type) && node['Index Cond'] === undefined && !isBounded)
    own.push(`${type} of all ${table} ${index}`);
  if (type === 'Sort' && (children[0]?.['Plan Rows'] ?? 0) > SORTED_MAX)
    own.push(`${type} of ${children[0]?.['Plan Rows']} rows of ${relationsIn(node).join(', ')}`);
  // A limit ends the reading of what is below it, unless something there reads everything first.
  const bounds = type === 'Limit' || (isBounded && !/^(Sort|Hash|Aggregate|Materialize)/.test(type));
  return [...own, ...children.flatMap((child) => stepsOf(child, bounds))];
}

const relationsIn = (node: PlanNode): string[] => [
  ...(node['Relation Name'] === undefined ? [] : [node['Relation Name']]),
  ...(node.Plans ?? []).flatMap(relationsIn),
];

/** The type that the text gives to a parameter. */
const typeIn = (text: string, index: number): string =>
  new RegExp(`\\$${index + 1}(::\\w+(?:\\[\\])?)`).exec(text)?.[1] ?? '';

function literal(client: ClientBase, value: unknown, type: string): string {
  if (Buffer.isBuffer(value)) return literal(client, elementsOf(value), type);
  if (Array.isArray(value)) return `array[${value.map((one) => literal(client, one, '')).join(', ')}]${type}`;
  if (value === null || value === undefined) return 'null';
  return typeof value === 'number' ? String(value) : client.escapeLiteral(String(value));
}

const HEADER_BYTES = 20;
const BIGINT = 20;

/** The elements of an array in the binary format of PostgreSQL (`postgres-driver.ts`). */
function elementsOf(array: Buffer): (string | number | null)[] {
  const isWhole = array.readInt32BE(8) === BIGINT;
  const elements: (string | number | null)[] = [];
  for (let at = HEADER_BYTES; at < array.length; ) {
    const length = array.readInt32BE(at);
    const start = at + 4;
    at = start + Math.max(0, length);
    if (length < 0) elements.push(null);
    else elements.push(isWhole ? Number(array.readBigInt64BE(start)) : array.toString('utf8', start, at));
  }
  return elements;
}
