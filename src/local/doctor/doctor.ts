/**
 * `annex doctor`: looks for what keeps a service from running here, and commands from reaching one.
 * It changes nothing.
 */
import Type from 'typebox';
import { type Command, defineCommand } from '../../cli/command.ts';
import type { CommandContext } from '../../cli/context.ts';
import { EXIT } from '../../cli/terminal/failure.ts';
import { paint } from '../../cli/terminal/output.ts';
import type { Finding } from './finding.ts';
import { checkConfinement, checkDataFolder, checkNode, checkPorts, checkSettings } from './machine-checks.ts';
import { checkService } from './service-checks.ts';

const SCOPES = ['all', 'machine', 'service'] as const;
const MARKS = {
  ok: paint('green', 'ok'),
  warning: paint('yellow', 'warning'),
  failed: paint('red', 'failed'),
};

export const doctor: Command = defineCommand({
  name: 'doctor',
  summary: 'find out what keeps Annex from working',
  description: [
    'Checks this machine (Node, settings, isolates, confinement, data folder, ports) and the service that commands would use (profile, connection, version, token), and says what to do about each problem. It changes nothing.',
    'A service that runs elsewhere needs only the second half: `annex doctor --only service`.',
  ],
  options: { only: { value: 'part', choices: SCOPES, default: 'all', help: 'what to check' } },
  examples: [
    { line: 'annex doctor', does: 'check everything' },
    { line: 'annex doctor --only service', does: 'check the connection to a service' },
  ],
  exits: { 0: 'nothing failed; there may be warnings', 1: 'a check failed' },
  json: Type.Object({
    ok: Type.Boolean(),
    findings: Type.Array(
      Type.Object({
        check: Type.String(),
        state: Type.Enum(['ok', 'warning', 'failed']),
        detail: Type.String(),
        fix: Type.Optional(Type.String()),
      }),
    ),
  }),
  async run(context, { only }) {
    const { output } = context;
    const service = only === 'machine' ? undefined : await checkService(context);
    const machine = only === 'service' ? [] : await checkMachine(context, service?.isServing ?? false);
    const findings = [...machine, ...(service?.findings ?? [])];
    const isOk = findings.every(({ state }) => state !== 'failed');
    output.result({ ok: isOk, findings }, () => {
      for (const { check, state, detail, fix } of findings) {
        output.line(MARKS[state], `  ${check}: ${detail}`);
        if (fix !== undefined) output.line('      ', paint('cyan', fix));
      }
    });
    return isOk ? EXIT.ok : EXIT.failed;
  },
});

async function checkMachine({ env, cwd }: CommandContext, isServing: boolean): Promise<Finding[]> {
  const { finding, config } = await checkSettings({ ...env }, cwd);
  if (config === undefined) return [checkNode(), finding];
  return [
    checkNode(),
    finding,
    ...(await checkConfinement(config)),
    await checkDataFolder(config),
    ...(await checkPorts(config, isServing)),
  ];
}
