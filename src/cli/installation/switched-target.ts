/** What `annex pause` and `annex resume` do: switch an installation, or a part of it. */
import type { CommandContext } from '../context.ts';
import { findInstallation, targetPath } from '../traffic/installation-name.ts';
import { showTarget, type TargetView } from './target-view.ts';

export interface SwitchedTarget {
  /** As the command line names it. */
  readonly installation: string;
  readonly space?: string | undefined;
  readonly site?: string | undefined;
}

export async function switchTarget(
  { output, client, signal }: CommandContext,
  { installation: word, ...place }: SwitchedTarget,
  to: 'pause' | 'resume',
): Promise<undefined> {
  const annex = await client();
  const path = targetPath(await findInstallation(annex, word), place);
  const target = await annex.request<TargetView>('POST', `${path}/${to}`, { options: { signal } });
  output.result(target, () => showTarget(output, target));
  return undefined;
}
