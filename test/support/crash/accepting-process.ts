/**
 * A process that accepts events, several at a time, and prints the id of each acknowledged one:
 * `accepting-process.ts <folder>`. It runs until it is killed.
 *
 * A line is printed by a synchronous write, so an id that a reader has seen was acknowledged
 * before.
 */
import { writeSync } from 'node:fs';
import { intakeOn, open } from '../store/store-changes.ts';

const AT_ONCE = 8;
const STDOUT = 1;

const [folder = ''] = process.argv.slice(2);
const { acceptance } = intakeOn(await open(folder, 'accept'));

async function acceptForEver(writer: number): Promise<never> {
  for (let count = 0; ; count += 1) {
    const eventId = `${writer}-${count}`;
    const event = { eventId, organization: 'acme', type: 'space_content_updated' };
    const body = JSON.stringify({ eventId, type: event.type, spaceId: 'p1', revisionId: 'r' });
    await acceptance.accept([{ ...event, level: 'space', place: 'p1', body, bodyHash: eventId }]);
    writeSync(STDOUT, `${eventId}\n`);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, (_, writer) => acceptForEver(writer)));
