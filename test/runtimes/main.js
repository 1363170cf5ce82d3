/** Runs the exercise in a runtime of the command line: `URL`, `TOKEN` and `GIVEN` are its input. */
import process from 'node:process';
// @ts-expect-error: the package is installed where this file is copied to.
import * as client from '@annex/client';
import { exercise } from './exercise.js';

const { URL: url = '', TOKEN: token, GIVEN: given = '' } = process.env;
const { bun, deno, node } = process.versions;
const version = bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`;
console.log(`${version}: ${await exercise(client, url, token, JSON.parse(given))}`);
