/**
 * Shapes that several routes of `api-routes.ts` answer with. Types only.
 *
 * Generated: `npx vitest run test/service/sdk/api-routes.test.ts -u`.
 */

export interface ApiInstallation {
  readonly id: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without what `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Properties that are set and whose values are never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    readonly publicEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly space_selection: 'all' | 'selected';
  readonly site_selection: 'all' | 'selected';
  /**
   * What keeps the configuration from being valid, by property; absent where nothing does, and in
   * lists.
   */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiSpaceInstallation {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without what `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Properties that are set and whose values are never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    readonly publicEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  /**
   * What keeps the configuration from being valid, by property; absent where nothing does, and in
   * lists.
   */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiSiteInstallation {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly site: string;
  readonly integration: string;
  readonly organization: string;
  readonly status: 'active' | 'pending' | 'paused';
  /** Without what `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Properties that are set and whose values are never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    readonly publicEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  /**
   * What keeps the configuration from being valid, by property; absent where nothing does, and in
   * lists.
   */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiConfigurationForm {
  readonly level: 'organization' | 'space' | 'site';
  readonly status: 'active' | 'pending' | 'paused';
  /** The component that draws the settings itself, instead of fields. */
  readonly componentId?: string;
  /** In the manifest's order. */
  readonly properties?: readonly {
    readonly name: string;
    readonly type: 'string' | 'number' | 'boolean' | 'button';
    readonly title?: string;
    readonly description?: string;
    readonly required: boolean;
    readonly default?: unknown;
    /** Choices of a dropdown. */
    readonly enum?: readonly string[];
    /** Several of them may be chosen: the value is a list. */
    readonly multiple?: boolean;
    /** The integration supplies the choices: ask for them at `…/completions`. */
    readonly completion?: boolean;
    readonly button_text?: string;
    /** Where the button leads; absolute. */
    readonly callback_url?: string;
    /** Absent where nothing is set, and for what is sealed. */
    readonly value?: unknown;
    /** It holds credentials, which are never shown. */
    readonly sealed?: boolean;
    /** Whether it has a value; of what is sealed. */
    readonly isSet?: boolean;
  }[];
  /** What keeps the configuration from being valid. */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

export interface ApiCredentialsLease {
  /** Absent while another call holds it: try again. */
  readonly lease?: string;
  readonly expiresAt?: string;
  /** `oauth_credentials` as they are now. */
  readonly credentials?: Readonly<Record<string, unknown>>;
}

export interface ApiWebhookSecret {
  /** The key of the HMAC is its UTF-8 text as it stands here. */
  readonly secret: string;
  readonly createdAt: string;
  /** While the secret before it signs, too: until when. Behind the new one in the header. */
  readonly previous?: {
    readonly until: string;
  };
}

export interface ApiWebhookTest {
  readonly eventId: string;
  /** None where the code does not handle the type, or lacks its scope. */
  readonly deliveries: number;
}

export interface ApiSpentState {
  /** Whether it was good: not spent before. */
  readonly isFirst: boolean;
}
