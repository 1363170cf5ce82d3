/**
 * What is answered for a name that leads to nothing: one sentence for what never was, for what is gone and for what is
 * another tenant's. They are made here and nowhere else, because an answer that differs by a word would tell those apart.
 */
import { AnnexError } from '../errors.ts';
import { type TargetName, wholeInstallation } from './installation.ts';

export const unknownIntegration = (name: string): AnnexError =>
  new AnnexError('INTEGRATION_UNKNOWN', `There is no integration "${name}".`);

/** One that was forgotten is no other than one that never was: numbers are taken in turn. */
export const unknownVersion = (integration: string, number: number): AnnexError =>
  new AnnexError(
    'VERSION_UNKNOWN',
    `Integration "${integration}" has no version ${number}, or has it no longer.`,
  );

export function unknownTarget({ installationId, level, place }: TargetName): AnnexError {
  const where = level === 'organization' ? '' : ` in ${level} "${place}"`;
  return new AnnexError('INSTALLATION_UNKNOWN', `There is no installation "${installationId}"${where}.`);
}

export const unknownInstallation = (id: string): AnnexError => unknownTarget(wholeInstallation(id));
