/**
 * Shapes that routes of `api-routes.ts` answer with. Types only.
 *
 * Generated: `npx vitest run test/service/sdk/api-routes.test.ts -u`.
 */

/** An integration, as the API shows it. */
export interface ApiIntegration {
  readonly object: 'integration';
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The owner. */
  readonly organization: string;
  readonly visibility: 'private' | 'unlisted' | 'public';
  /** The active version. */
  readonly version: number;
  /**
   * The newest version that waits for the operator's approval. Shown to the owner and the operator.
   */
  readonly waitingVersion?: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Markdown. */
  readonly summary?: string;
  /** Level at which it can be installed: all, organization, space or site. */
  readonly target: string;
  readonly scopes: readonly string[];
  readonly categories: readonly string[];
  readonly blocks: readonly {
    readonly id: string;
    readonly title: string;
    readonly description?: string;
    readonly icon?: string;
    readonly urlUnfurl?: readonly string[];
    readonly markdown?: {
      readonly codeblock: string;
      readonly body: string;
    };
  }[];
  readonly icon?: string;
  readonly previewImages: readonly string[];
  readonly externalLinks: readonly {
    readonly label: string;
    readonly url: string;
  }[];
  /** Hosts that its fetch may reach, if the manifest lists them. */
  readonly egress?: readonly string[];
  /** Name of the retry schedule of its handlers, or its delays, or none. */
  readonly retries?: string;
  /** Names of the properties with the URL of webhooks and the types of events. */
  readonly webhook?: {
    readonly url: string;
    readonly eventTypes: string;
    /** Name of a retry schedule, or its delays. */
    readonly retries?: string;
    /** Name of the property with the name of a retry schedule. */
    readonly retriesSetting?: string;
    /** How webhooks are signed. */
    readonly signature?: 'platform' | 'standard' | 'both';
    /** Name of the property with the name of that scheme. */
    readonly signatureSetting?: string;
    /** Requests per second to a receiver, at most. */
    readonly rate?: number;
    /** Name of the property with that number. */
    readonly rateSetting?: string;
  };
  readonly urls: {
    /** Its record in the API. */
    readonly location: string;
    /** Its page in the host product. */
    readonly app?: string;
    readonly icon?: string;
    /** The folder of its images. */
    readonly assets: string;
    /** Its own endpoint, one for all installations. */
    readonly publicEndpoint: string;
    /** The same on the origin without cookies. */
    readonly publicContentEndpoint: string;
    /** The redirect URL to register at a provider of OAuth. */
    readonly oauthCallback?: string;
  };
  /** The settings of the manifest, by level: account, space and site. */
  readonly configurations: Readonly<Record<string, unknown>>;
  /** Whether it comes with Annex. */
  readonly verified: boolean;
  /** The organization that owns it. */
  readonly owner: {
    readonly object: 'organization';
    readonly id: string;
    /** The id: the product alone knows another. */
    readonly title: string;
    readonly urls: {
      /** Its record in the API of the product. */
      readonly location: string;
      /** Its page in the host product. */
      readonly app?: string;
    };
  };
  readonly permissions: {
    /** Whether the token may publish and manage it. */
    readonly admin: boolean;
  };
  /** Whether it has an install link. Shown to the owner only. */
  readonly installLink?: boolean;
}

/** An installation in an organization, as the API shows it. */
export interface ApiInstallation {
  readonly id: string;
  readonly integration: string;
  readonly organization: string;
  readonly target: {
    readonly organization: string;
  };
  readonly status: 'active' | 'pending' | 'paused';
  /** Without the properties that `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Names of properties that are set and never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    /** The record in the API. */
    readonly location: string;
    /** The page in the host product. */
    readonly app?: string;
    readonly publicEndpoint: string;
    /** The endpoint on the origin without cookies. */
    readonly publicContentEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly space_selection: 'all' | 'selected';
  readonly site_selection: 'all' | 'selected';
  /** Number of spaces that it was added to. */
  readonly spaces: number;
  /**
   * Problems that make the configuration invalid, by property; absent if there are none, and in
   * lists.
   */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
  /** Webhooks of its spaces and sites, in lists, while one is failing or disabled. */
  readonly webhooks?: {
    readonly failing: number;
    readonly disabled: number;
  };
}

/** The installation in a space, as the API shows it. */
export interface ApiSpaceInstallation {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly space: string;
  readonly integration: string;
  readonly organization: string;
  readonly target: {
    readonly organization: string;
  };
  readonly status: 'active' | 'pending' | 'paused';
  /** Without the properties that `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Names of properties that are set and never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    /** The record in the API. */
    readonly location: string;
    /** The page in the host product. */
    readonly app?: string;
    readonly publicEndpoint: string;
    /** The endpoint on the origin without cookies. */
    readonly publicContentEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  /**
   * Problems that make the configuration invalid, by property; absent if there are none, and in
   * lists.
   */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
  /** Its webhook, in lists, while that is failing or disabled. */
  readonly webhook?: {
    /**
     * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is posted,
     * and its deliveries are held.
     */
    readonly state: 'healthy' | 'failing' | 'disabled';
    /** When the state began; absent where it never was another. */
    readonly since?: string;
    /** When its receiver first failed, and how. */
    readonly failing?: {
      readonly since: string;
      readonly outcome: string;
    };
    readonly disabled?: {
      /** Kind of the token with which it was disabled; `service`: Annex itself. */
      readonly by: string;
      /**
       * `failing`: for longer than the operator allows. `gone`: its receiver answered 410.
       * `request`: it was asked for.
       */
      readonly reason: 'failing' | 'gone' | 'request';
      readonly note?: string;
    };
  };
}

/** The installation in a site, as the API shows it. */
export interface ApiSiteInstallation {
  /** Id of the installation that it belongs to. */
  readonly installation: string;
  readonly site: string;
  readonly integration: string;
  readonly organization: string;
  readonly target: {
    readonly organization: string;
  };
  readonly status: 'active' | 'pending' | 'paused';
  /** Without the properties that `sealed` names. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Names of properties that are set and never shown. */
  readonly sealed?: readonly string[];
  readonly externalIds: readonly string[];
  readonly urls: {
    /** The record in the API. */
    readonly location: string;
    /** The page in the host product. */
    readonly app?: string;
    readonly publicEndpoint: string;
    /** The endpoint on the origin without cookies. */
    readonly publicContentEndpoint: string;
  };
  readonly createdAt: string;
  readonly updatedAt: string;
  /**
   * Problems that make the configuration invalid, by property; absent if there are none, and in
   * lists.
   */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
  /** Its webhook, in lists, while that is failing or disabled. */
  readonly webhook?: {
    /**
     * `failing`: its receiver has failed and accepted nothing since. `disabled`: nothing is posted,
     * and its deliveries are held.
     */
    readonly state: 'healthy' | 'failing' | 'disabled';
    /** When the state began; absent where it never was another. */
    readonly since?: string;
    /** When its receiver first failed, and how. */
    readonly failing?: {
      readonly since: string;
      readonly outcome: string;
    };
    readonly disabled?: {
      /** Kind of the token with which it was disabled; `service`: Annex itself. */
      readonly by: string;
      /**
       * `failing`: for longer than the operator allows. `gone`: its receiver answered 410.
       * `request`: it was asked for.
       */
      readonly reason: 'failing' | 'gone' | 'request';
      readonly note?: string;
    };
  };
}

/** What a form for a configuration needs: the declared properties and the values. */
export interface ApiConfigurationForm {
  readonly level: 'organization' | 'space' | 'site';
  /** The product's word for the level, where it has one. */
  readonly levelName?: string;
  readonly status: 'active' | 'pending' | 'paused';
  /** Component that draws the configuration, instead of a form. */
  readonly componentId?: string;
  /** In the manifest's order. */
  readonly properties?: readonly {
    readonly name: string;
    readonly type: 'string' | 'number' | 'boolean' | 'button';
    readonly title?: string;
    readonly description?: string;
    readonly required: boolean;
    readonly default?: unknown;
    /** Options of a dropdown. */
    readonly enum?: readonly string[];
    /** Option → its title, where options have titles. */
    readonly titles?: Readonly<Record<never, never>>;
    /** Several options may be chosen: the value is a list. */
    readonly multiple?: boolean;
    /** The integration supplies the options, at `…/completions`. */
    readonly completion?: boolean;
    readonly button_text?: string;
    /** Absolute URL that the button opens. */
    readonly callback_url?: string;
    /** Absent if nothing is set, and for sealed properties. */
    readonly value?: unknown;
    /** The property has credentials, which are never shown. */
    readonly sealed?: boolean;
    /** Whether a sealed property has a value. */
    readonly isSet?: boolean;
    /** Whether the provider refuses its credentials for good: connect again. */
    readonly isLost?: boolean;
    /** Name of the account that is connected, where the code stores one. */
    readonly account?: string;
  }[];
  /** Problems that make the configuration invalid. */
  readonly problems?: readonly {
    readonly property: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

/** The right to renew credentials that several nodes share, for a while. */
export interface ApiCredentialsLease {
  /** Absent while another call holds the lease: try again. */
  readonly lease?: string;
  readonly expiresAt?: string;
  /** The present `oauth_credentials`. */
  readonly credentials?: Readonly<Record<string, unknown>>;
}

/** A new secret of a webhook, shown once. */
export interface ApiWebhookSecret {
  /** The key of the HMAC is the UTF-8 of this text. */
  readonly secret: string;
  /**
   * The same secret as receivers of Standard Webhooks take it, `whsec_…`, if these webhooks are
   * signed so.
   */
  readonly standardSecret?: string;
  readonly createdAt: string;
  /**
   * Beginning of the names of the headers, where the operator has set another than `X-Platform`.
   */
  readonly headerPrefix?: string;
  /** End of the time in which the previous secret signs too, second in the header. */
  readonly previous?: {
    readonly until: string;
  };
}

/** A test event, and the number of its deliveries. */
export interface ApiWebhookTest {
  readonly eventId: string;
  /** 0 if the code does not handle the type or lacks its scope. */
  readonly deliveries: number;
}

/** Whether an OAuth state is used for the first time. */
export interface ApiSpentState {
  /** Whether the state was not spent before. */
  readonly isFirst: boolean;
}

/** Parameters of a list. */
export interface ApiListQuery {
  /** `next` of the page before. */
  readonly cursor?: string;
  /** `next.page` of the page before. The answer then has a `next.page`, too. */
  readonly page?: string;
  readonly limit?: number;
  readonly externalId?: string;
}

/** A page of a list. */
export interface ApiPage<Item> {
  readonly items: readonly Item[];
  /** Number of all items, where it is known. With `next.page` only. */
  readonly count?: number;
  /**
   * The next page; absent on the last. For runtime tokens, and in answer to `page`, an object with
   * the next `page`; otherwise the next `cursor`.
   */
  readonly next?: {
    readonly page: string;
  };
}
