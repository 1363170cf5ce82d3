/**
 * Links to the portal (`docs/contract/portal.md`): what they are made with. Data and rules without
 * I/O.
 */

export const PORTAL_VIEWS = ['integrations', 'webhooks', 'activity'] as const;
export type PortalView = (typeof PORTAL_VIEWS)[number];

export const PORTAL_LOCALES = ['en', 'de'] as const;

/** How the portal looks to the customers of a product. */
export interface PortalTheme {
  /** Name of the product, above the views. */
  readonly name?: string | undefined;
  readonly scheme?: 'light' | 'dark' | undefined;
  /** Colours of actions in each scheme, `#rrggbb`. */
  readonly accent?: string | undefined;
  readonly darkAccent?: string | undefined;
  /** A `data:` URL. */
  readonly logo?: string | undefined;
}

/** What a link was made with. */
export interface PortalGrant {
  readonly views: readonly PortalView[];
  /** Seconds that a session lasts. */
  readonly expiresIn: number;
  readonly theme?: PortalTheme | undefined;
  readonly returnUrl?: string | undefined;
  readonly locale?: (typeof PORTAL_LOCALES)[number] | undefined;
}

/**
 * Origins that may frame the portal. Attack: a name that ends the directive of the policy, or one
 * that stands for any page.
 *
 * @param problems gets what is no origin
 */
export function frameOrigins(frames: readonly string[], problems: string[]): readonly string[] {
  for (const one of frames)
    if (!/^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?$/.test(one))
      problems.push(
        `--portal-frames must list origins such as https://app.example.com; it has ${JSON.stringify(one.slice(0, 200))}.`,
      );
  return frames;
}
