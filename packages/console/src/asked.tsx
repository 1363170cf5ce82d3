/** What a view of the console has asked of the API. */
import { type Asked, askedBy, Failure as FailureIn, Shown as ShownIn } from '../../ui/src/asked.tsx';
import { ask } from './api.ts';
import { signedOut } from './session.ts';

export type { Asked };

export const useAsked = askedBy(ask, signedOut);

const WORDS = {
  loading: 'Loading',
  unreachable: 'The service does not answer.',
  request: 'Request',
  retry: 'Try again',
};

type Without<Component extends (props: never) => unknown> = Omit<Parameters<Component>[0], 'words'>;

export const Shown = <T,>({ rows = 4, ...props }: Without<typeof ShownIn<T>>) => (
  <ShownIn {...props} rows={rows} words={WORDS} />
);

export const Failure = (props: Without<typeof FailureIn>) => <FailureIn {...props} words={WORDS} />;
