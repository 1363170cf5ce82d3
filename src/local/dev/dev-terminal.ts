/** Shows the events of `annex dev` to people, one below the other. */
import { type Output, paint } from '../../cli/terminal/output.ts';
import { printProblems } from '../../cli/terminal/problem-report.ts';
import { showTree } from '../../cli/traffic/content-tree.ts';
import { showChange } from '../../cli/traffic/delivery-change.ts';
import { showLine } from '../../cli/traffic/log-line.ts';
import type { DevEvent } from './dev-event.ts';
import type { ProblemReport } from './dev-session.ts';

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
  }
}

const deliveriesText = (count: number): string =>
  count === 0 ? 'no recipient handles it here' : `${count} ${count === 1 ? 'delivery' : 'deliveries'}`;
