/** A node that was cut off ends the sessions that it left on the server, and no others. */
import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { CutSessions } from '../../../src/host/database/postgres/postgres-clients.ts';

/** A connection that records what it is asked, and answers or fails. */
function connection(failure?: Error) {
  const asked: { processes: unknown; agesMs: unknown }[] = [];
  const query = (_text: string, [processes, agesMs]: unknown[]) => {
    asked.push({ processes, agesMs });
    return failure === undefined ? Promise.resolve({ rows: [] }) : Promise.reject(failure);
  };
  return { asked, client: { query } as never };
}

let now = 0;
const monotonicNow = () => now;

test('a node that was never cut off sends nothing', async () => {
  const { asked, client } = connection();
  await new CutSessions(monotonicNow).end(client);
  expect(asked).toEqual([]);
});

test('each session is named by its process and by its age, once', async () => {
  const sessions = new CutSessions(monotonicNow);
  now = 1_000;
  sessions.add({ processID: 7 }, 100);
  sessions.add({ processID: 8 }, 400);
  // A client that was not connected yet.
  sessions.add({ processID: null }, 900);
  now = 5_000;
  const { asked, client } = connection();
  await sessions.end(client);
  await sessions.end(client);
  expect(asked).toEqual([{ processes: [7, 8], agesMs: [4_900, 4_600] }]);
});

test('a process number that the server has used again stands for the later session', async () => {
  const sessions = new CutSessions(monotonicNow);
  sessions.add({ processID: 7 }, 100);
  sessions.add({ processID: 7 }, 3_000);
  now = 5_000;
  const { asked, client } = connection();
  await sessions.end(client);
  expect(asked).toEqual([{ processes: [7], agesMs: [2_000] }]);
});

test('a connection that is lost meanwhile leaves them to the next, and to no third', async () => {
  const sessions = new CutSessions(monotonicNow);
  sessions.add({ processID: 7 }, 0);
  const { asked, client } = connection(new Error('Connection terminated unexpectedly'));
  for (let time = 0; time < 3; time += 1) await sessions.end(client);
  expect(asked).toHaveLength(2);
});

test('a server that refuses is not asked again', async () => {
  const sessions = new CutSessions(monotonicNow);
  sessions.add({ processID: 7 }, 0);
  const { asked, client } = connection(new DatabaseError('permission denied', 0, 'error'));
  for (let time = 0; time < 2; time += 1) await sessions.end(client);
  expect(asked).toHaveLength(1);
});
