/**
 * Calls installations that attack in a loop, in a process of its own at a low priority: real
 * attackers have machines of their own, and take no core from the service.
 *
 * Run as a child: receives `Attacks` by message, answers when it calls, and ends with its parent.
 */
import { request } from 'node:http';
import { constants, setPriority } from 'node:os';
import { endWithParent } from './feed.ts';
import { pause } from './figures.ts';

export interface Attacks {
  readonly urls: readonly string[];
  /** Callers of each, with one call in flight each. */
  readonly callers: number;
}

/** Of attackers alone, so that limits per address do not refuse the bystanders. */
const ADDRESS = '127.0.0.2';
/** A refused attacker tries again after this time. */
const RETRY_MS = 20;

setPriority(constants.priority.PRIORITY_LOW);
endWithParent();

async function keepCalling(url: string): Promise<never> {
  for (;;) {
    await new Promise<void>((resolve) => {
      const sent = request(url, { localAddress: ADDRESS }, (response) => {
        response.resume().once('close', resolve);
      });
      sent.once('error', () => resolve()).end();
    });
    await pause(RETRY_MS);
  }
}

process.once('message', ({ urls, callers }: Attacks) => {
  for (const url of urls) for (let at = 0; at < callers; at += 1) void keepCalling(url);
  process.send?.('started');
});
