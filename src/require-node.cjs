/**
 * Refuses a Node that cannot run Annex, and a folder without its packages, in words: the programs
 * are TypeScript, and an older Node only reports an unknown file extension. `npm run …` loads this
 * file first, so it is plain JavaScript for any Node.
 *
 * Then it lets Node keep compiled code for the next start, in the folder `KEPT` of `own-files.ts`:
 * before the first file of TypeScript, so that a later start does not even load Node's compiler.
 */
const { existsSync } = require('node:fs');
const nodeModule = require('node:module');
const { join } = require('node:path');

const ROOT = join(__dirname, '..');
const NODE_MAJOR = 26;

function problem() {
  const installed = existsSync(join(ROOT, 'node_modules', 'fastify'));
  const isOld = Number(process.versions.node.split('.', 1)[0]) < NODE_MAJOR;
  if (!installed)
    return `its packages are not installed. Run "npm ci" in ${ROOT}. It brings Node ${NODE_MAJOR}, too.`;
  if (!isOld) return undefined;
  if (existsSync(join(ROOT, 'node_modules', '.bin', 'node')))
    return `this is Node ${process.versions.node}. Start it with npm ("npm start", "npx vitest"), which uses the Node ${NODE_MAJOR} that "npm ci" has installed.`;
  return `this is Node ${process.versions.node}. Run "npm ci" in ${ROOT}, without --omit=optional: it installs Node ${NODE_MAJOR}.`;
}

const found = problem();
if (found !== undefined) {
  process.stderr.write(`Annex cannot start: ${found}\n`);
  process.exit(1);
}
nodeModule.enableCompileCache(join(ROOT, 'node_modules', '.cache', 'annex'));
