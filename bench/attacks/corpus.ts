/** The integrations of the hostile corpus as continuous attacks. */
import { cellCode, readAttacks, uploadOf } from '../../test/support/hostile/hostile-attack.ts';
import type { Api, Place } from './api.ts';

/** @returns the installations of each; integrations that cannot be published are left out */
export async function corpusAttacks(api: Api): Promise<Map<string, Place[]>> {
  const places = new Map<string, Place[]>();
  for (const attack of readAttacks()) {
    if (cellCode(attack) !== undefined || attack.category === 'publishing') continue;
    const { status } = await api.post('/integrations', await uploadOf(attack));
    if (status === 201) places.set(attack.name, [await api.install(attack.name, `org-${attack.name}`)]);
  }
  return places;
}
