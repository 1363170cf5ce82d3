/** Log lines for authors: their integration is kept apart because its cells crash, or no longer. */
import type { SuspicionChange } from '../cells/suspicion.ts';
import type { LogLevel } from '../protocol/wire.ts';

const WHY =
  'Code that grows memory without end, or that the engine cannot interrupt (an array filled, sorted or searched over ' +
  'billions of elements, a rejected proxy), does that. The lines before this one name the calls that were in flight: do ' +
  'less in one call, and bound what it keeps.';

/** @param now milliseconds since 1970 */
export function suspicionText(change: SuspicionChange, now: number): { level: LogLevel; text: string } {
  const times = change.deaths === 1 ? 'once' : `${change.deaths} times`;
  switch (change.now) {
    case 'suspected': {
      const others =
        change.among === 1
          ? 'alone'
          : `with ${change.among - 1} other installation${change.among > 2 ? 's' : ''}`;
      const text =
        `The process that runs the integration died while it was executing, ${others}; so far this has happened ${times}. ` +
        'It runs in another process, apart from the others, until it has worked there for a while.';
      return { level: 'warn', text };
    }
    case 'cleared':
      return {
        level: 'info',
        text: 'The integration has worked without crashing: it is no longer kept apart.',
      };
    case 'quarantined': {
      const text = `The integration is in quarantine: the process that runs it died ${times} while it was executing. It runs alone from now on. ${WHY}`;
      return { level: 'error', text };
    }
    case 'paused': {
      const until = new Date(now + change.pauseMs).toISOString();
      const text =
        `The integration has crashed its process again, ${times} in all. Calls are refused until ${until} ` +
        `(${change.pauseMs} ms), and for twice as long after the next crash. ${WHY}`;
      return { level: 'error', text };
    }
    case 'released':
      return {
        level: 'info',
        text: 'The integration has not crashed in quarantine: the quarantine has ended.',
      };
  }
}
