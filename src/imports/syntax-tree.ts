/**
 * The syntax trees of acorn, walked without recursion. Attack: code that is nested so deep that it
 * exhausts the stack; who walks a tree keeps a list of what it has not seen.
 */
import type { Node } from 'acorn';

export type AnyNode = Node & Readonly<Record<string, unknown>>;

export const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';

/** The nodes right below a node, each with the member that has it. */
export function* nodesBelow(node: Node): Generator<[member: string, child: AnyNode]> {
  for (const [member, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield [member, child];
  }
}
