/**
 * The icons, as paths of 16 × 16: those of ContentKit, and those of the widgets. Each stands beside
 * words, and is not read out.
 */

const PATHS: ReadonlyMap<string, string> = new Map([
  ['close', 'M4 4l8 8M12 4l-8 8'],
  ['edit', 'M3 13l1-3 7-7 2 2-7 7zM10 4l2 2'],
  [
    'github',
    'M6 14v-2.2c-2 .5-2.6-.9-2.6-.9M10 14v-2.6c0-.8-.2-1.2-.5-1.5 1.8-.2 3.5-1 3.5-3.9a3 3 0 0 0-.8-2.1 2.8 2.8 0 0 0-.1-2.1s-.7-.2-2.1.8a7 7 0 0 0-4 0C4.600 1.600 4 1.800 4 1.800a2.800 2.800 0 0 0-.1 2.100A3 3 0 0 0 3 6c0 2.900 1.800 3.700 3.500 3.900-.3.300-.5.700-.5 1.500',
  ],
  ['gitlab', 'M8 14L2 9l1.500-6L5.500 7h5L12.500 3 14 9z'],
  ['maximize', 'M9 3h4v4M7 13H3V9M13 3L9 7M3 13l4-4'],
  ['email', 'M2 4h12v8H2zM2 4l6 5 6-5'],
  ['settings', 'M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4'],
  ['search', 'M7 11.500a4.500 4.500 0 1 1 0-9 4.500 4.500 0 0 1 0 9zM10.500 10.500L14 14'],
  ['delete', 'M3 4h10M6 4V2h4v2M4 4l1 10h6l1-10M7 7v4M9 7v4'],
  ['star', 'M8 2l1.900 3.900 4.300.6-3.100 3 .7 4.300L8 11.700l-3.800 2.100.7-4.300-3.100-3 4.300-.6z'],
  ['warning', 'M8 2l6.500 12h-13zM8 6v4M8 12v.1'],
  ['link', 'M7 9a3 3 0 0 0 4 0l2-2a3 3 0 0 0-4-4L8 4M9 7a3 3 0 0 0-4 0L3 9a3 3 0 0 0 4 4l1-1'],
  ['link-external', 'M6 3H3v10h10v-3M9 3h4v4M13 3L7 9'],
  [
    'eye',
    'M1 8s2.500-4.500 7-4.500S15 8 15 8s-2.500 4.500-7 4.500S1 8 1 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  ],
  ['eye-off', 'M1 8s2.500-4.500 7-4.500S15 8 15 8s-2.500 4.500-7 4.500S1 8 1 8zM2 14L14 2'],
  ['lock', 'M4 7h8v7H4zM5.500 7V5a2.500 2.500 0 0 1 5 0v2'],
  ['check', 'M3 8.500l3.500 3.500L13 4.500'],
  ['chevron', 'M4 6l4 4 4-4'],
  ['copy', 'M6 6h8v8H6zM10 6V2H2v8h4'],
  ['alert', 'M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM8 5v3.500M8 11v.1'],
  ['info', 'M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM8 7.500v3.500M8 5v.1'],
  ['menu', 'M2 4h12M2 8h12M2 12h12'],
  ['overview', 'M2.500 13V9M6 13V5M10 13V7.500M13.500 13V3'],
  [
    'integration',
    'M2.500 2.500h4.500v4.500h-4.500zM9 2.500h4.500v4.500H9zM2.500 9h4.500v4.500h-4.500zM9 11.250h4.500M11.250 9v4.500',
  ],
  ['plug', 'M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2.500'],
  ['event', 'M9 1.500L3.500 9H8l-1 5.500L12.500 7H8z'],
  ['delivery', 'M2 7.500L14 2.500 10 14l-3-4.500zM7 9.500l7-7'],
  ['bell', 'M4 11V7a4 4 0 0 1 8 0v4l1.500 1.500h-11zM6.500 14.500h3'],
  ['tag', 'M2.500 2.500h5l6.500 6.500-5 5L2.500 7.500zM5.500 5.500v.1'],
  ['key', 'M5.500 13.500a3 3 0 1 1 0-6 3 3 0 0 1 0 6zM7.600 8.400L13 3M10.500 5.500l2 2'],
  ['list', 'M5.500 4h8M5.500 8h8M5.500 12h8M2.500 4v.1M2.500 8v.1M2.500 12v.1'],
  ['log', 'M2 3h12v10H2zM4.500 6l2 2-2 2M8 10.500h3.500'],
  ['clock', 'M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM8 5v3.200l2.200 1.300'],
  ['server', 'M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5v.1M5 11v.1'],
  ['leave', 'M6.500 2.500h-4v11h4M6 8h8M11 5l3 3-3 3'],
  ['upload', 'M8 11V3M4.500 6.500L8 3l3.500 3.500M2.500 11v2.500h11V11'],
  ['check-circle', 'M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM5 8.500l2 2 4-4.500'],
]);

export function Icon({ name }: { name: string | undefined }) {
  const path = name === undefined ? undefined : PATHS.get(name);
  if (path === undefined) return null;
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={path} />
    </svg>
  );
}
