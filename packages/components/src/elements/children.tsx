/**
 * Draws the children of an element, in time slices: those whose position is not reached yet are
 * left out, or stay as they were in the drawing before.
 */
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { DrawnNode } from '../drawing/drawn-tree.ts';
import { member } from '../drawing/json.ts';
import { useScope } from './scope.ts';

interface Kept {
  nodes: DrawnNode[];
  drawn: (VNode | null)[];
}

/** @param inline whether they stand in a line of text */
export function Children({ nodes, inline = false }: { nodes: readonly DrawnNode[]; inline?: boolean }) {
  const { session, draw } = useScope();
  const { current: kept } = useRef<Kept>({ nodes: [], drawn: [] });
  const last = nodes.at(-1)?.position ?? -1;
  const { revealed } = session.slices;
  // A list that is drawn as a whole does not follow the slices any longer.
  const border = last < revealed.peek() ? Number.POSITIVE_INFINITY : revealed.value;
  for (const [index, node] of nodes.entries()) {
    if (node.position >= border) return <>{[...kept.drawn]}</>;
    if (kept.nodes[index] === node) continue;
    kept.nodes[index] = node;
    // The same object is not compared again by Preact.
    kept.drawn[index] = draw(node, inline);
  }
  kept.nodes.length = nodes.length;
  kept.drawn.length = nodes.length;
  return <>{[...kept.drawn]}</>;
}

/** A field keeps what the user does in it when elements before it come and go. */
export function keyOf({ type, attributes }: DrawnNode): string | undefined {
  const field = member(attributes, 'element');
  const held = (typeof field === 'object' && field !== null ? field : attributes) as DrawnNode['attributes'];
  const state = member(held, 'state');
  if (typeof state !== 'string') return undefined;
  return JSON.stringify([type, state, member(held, 'value')]);
}
