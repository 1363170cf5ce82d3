/**
 * The server of the tests that run on PostgreSQL: one that is started for the run and removed
 * behind it, or the one at the URL in `ANNEX_TEST_POSTGRES`, where databases may be made.
 */
import type { TestProject } from 'vitest/node';
import { PostgresCluster } from '../postgres/cluster.ts';
import { makeTemplate, runOn, type Template } from '../postgres/template.ts';
import { useMemory } from './memory-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the server's database for administration, and what tests copy. */
    postgres: { readonly server: string; readonly template: Template };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The setup of this project runs before that of the whole run. On ext4, most of the server's CPU
  // goes into files of databases: of each new file, the kernel reads which ones were just deleted.
  await useMemory();
  const given = process.env['ANNEX_TEST_POSTGRES'];
  const cluster = given === undefined ? await PostgresCluster.start() : undefined;
  const server = cluster?.url ?? given ?? '';
  const end = async (template?: Template) => {
    if (cluster !== undefined) await cluster.stop();
    else if (template !== undefined)
      await runOn(server, `drop database if exists ${template.name} with (force)`);
  };
  try {
    const template = await makeTemplate(server);
    project.provide('postgres', { server, template });
    return () => end(template);
  } catch (cause) {
    await end();
    throw cause;
  }
}
