/**
 * Runs before each file of the project `postgres`: puts the stores and services of its tests on
 * PostgreSQL (`test-engine.ts`). Environment variables, because processes of tests need them, too.
 */
import { inject } from 'vitest';

const { server, template } = inject('postgres');
process.env['ANNEX_TEST_STORES'] = server;
process.env['ANNEX_TEST_TEMPLATE'] = template.copied;
