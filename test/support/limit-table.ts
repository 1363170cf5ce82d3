/**
 * Limits as a table: a request at the limit works, and one beyond it is refused and reported. Each
 * row runs on a service with that limit, and, where the limit can be lowered for an integration, on
 * one that has it for that integration alone.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LimitMet, type LimitName, type Limits, LOWERABLE_LIMITS } from '../../src/limits.ts';
import { type Installed, TestService } from './service.ts';

export interface LimitRow {
  readonly limit: LimitName;
  /** Sends as much as the limit allows; answered 200. */
  readonly within: (at: Installed, annex: TestService) => Promise<Response>;
  /** Sends one more. */
  readonly beyond: (at: Installed, annex: TestService) => Promise<Response>;
  /**
   * The answer: status and code where the limit ends the request, or a text where the integration
   * continues.
   */
  readonly answer: readonly [status: number, code: string] | RegExp;
  /** The used amount, where the answer has it. */
  readonly used?: number | 'more';
  /** The line in the log of the installation; absent where only the integration sees the error. */
  readonly log?: RegExp;
}

export interface LimitTable {
  readonly source: string;
  readonly limits: Partial<Limits>;
  readonly rows: readonly LimitRow[];
  readonly flags?: () => readonly string[];
}

const metric = (annex: TestService, limit: LimitName): Promise<number> =>
  annex.metric(`annex_limits_met_total{limit="${limit}"}`);

/** Sets limits for one integration, as the operator does. */
export async function lower(annex: TestService, integration: string, limits: object): Promise<void> {
  const { status, body } = await annex.api('PUT', `/v1/integrations/${integration}/limits`, { json: limits });
  if (status !== 200) throw new Error(`lowering answered ${status}: ${JSON.stringify(body)}`);
}

export function describeLimits({ source, limits, rows, flags = () => [] }: LimitTable): void {
  const lowerable: readonly string[] = LOWERABLE_LIMITS;
  const lowered = Object.entries(limits).filter(([name]) => lowerable.includes(name));
  describe.each([
    { how: 'of the deployment', own: limits, asked: {}, rows },
    {
      how: 'lowered for an integration',
      own: Object.fromEntries(Object.entries(limits).filter(([name]) => !lowerable.includes(name))),
      asked: Object.fromEntries(lowered),
      rows: rows.filter(({ limit }) => lowerable.includes(limit)),
    },
  ])('$how', ({ own, asked, rows }) => {
    let annex: TestService;
    let installed: Installed;
    beforeAll(async () => {
      annex = await TestService.start({ limits: own, flags: flags() });
      installed = await annex.deploy('limited', source);
      await lower(annex, 'limited', asked);
    });
    afterAll(() => annex.stop());

    test.each(rows)('$limit: a request at the limit works, and one beyond it is refused', async (row) => {
      const { limit, within, beyond, answer, log } = row;
      const max = limits[limit] ?? 0;
      const before = await metric(annex, limit);
      const fits = await within(installed, annex);
      expect([fits.status, (await fits.text()).slice(0, 200)]).toEqual([200, expect.any(String)]);
      expect(await metric(annex, limit)).toBe(before);

      const over = await beyond(installed, annex);
      const text = await over.text();
      if (answer instanceof RegExp) {
        expect(text).toMatch(answer);
      } else {
        const { error } = JSON.parse(text) as { error: { code: string; message: string; limit: LimitMet } };
        expect([over.status, error.code]).toEqual(answer);
        expect(error.limit).toMatchObject({ name: limit, max });
        if (row.used === 'more') expect(error.limit.used).toBeGreaterThanOrEqual(max);
        else expect(error.limit.used).toBe(row.used);
        expect(error.message).toContain(`(${limit})`);
      }
      await expect.poll(() => metric(annex, limit)).toBe(before + 1);
      if (log)
        expect((await annex.log(installed)).map((line) => line.text)).toContainEqual(
          expect.stringMatching(log),
        );
    });
  });
}
