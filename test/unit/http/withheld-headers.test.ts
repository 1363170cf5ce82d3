/**
 * The table of response headers that are withheld, against the registries of names: each registered
 * name is decided. A name of a newer registry that is added to the data is reported as undecided.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { WITHHELD } from '../../../src/host/http/withheld-headers.ts';
import { HOP_BY_HOP } from '../../../src/model/hop-by-hop.ts';
import { HTTP_FIELDS, OF_BROWSERS, OF_PROXIES } from '../../support/http/field-names.ts';
import { ROOT } from '../../support/repository/sources.ts';

/** Registered names that pass to browsers, by what each concerns. */
const PASSES: Readonly<Record<string, string>> = {
  'asks something of a server; an answer with it is as one without': `
    A-IM Accept Accept-Additions Accept-Charset Accept-Datetime Accept-Encoding Accept-Features
    Accept-Language Accept-Query Access-Control-Request-Headers Access-Control-Request-Method Alt-Used
    AMP-Cache-Transform Apply-To-Redirect-Ref Authorization Available-Dictionary CDN-Loop Client-Cert
    Client-Cert-Chain CMCD-Object CMCD-Request CMCD-Session CMCD-Status Concealed-Auth-Export Cookie
    Cookie2 CTA-Common-Access-Token Depth Destination Detached-JWS DPoP Early-Data Expect Forwarded From
    GetProfile Hobareg Host HTTP2-Settings If If-Match If-Modified-Since If-None-Match If-Range
    If-Schedule-Tag-Match If-Unmodified-Since Isolation Label Last-Event-ID Max-Forwards Negotiate
    OData-Isolation OData-MaxVersion Ordering-Type Origin Overwrite Ping-From Ping-To Position Prefer
    Range Redirect-Ref Referer Referer-Root Repeatability-Client-ID Repeatability-First-Sent
    Repeatability-Request-ID Schedule-Reply Sec-CH-UA Sec-CH-UA-Arch Sec-CH-UA-Mobile Sec-Fetch-Dest
    Sec-Fetch-Mode Sec-Fetch-Site Sec-Fetch-Storage-Access Sec-Fetch-User Sec-GPC Sec-Purpose
    Sec-Browsing-Topics Sec-Shared-Storage-Writable Sec-Speculation-Tags Sec-Token-Binding Service-Worker
    Service-Worker-Navigation-Preload Sec-Ad-Auction-Fetch Attribution-Reporting-Eligible
    Attribution-Reporting-Support Sec-WebSocket-Key SLUG SoapAction Surrogate-Capability Timeout Topic
    Traceparent Tracestate TTL UA-Color UA-Media UA-Pixels UA-Resolution UA-Windowpixels Urgency
    User-Agent Upgrade-Insecure-Requests Want-Content-Digest Want-Digest Want-Repr-Digest Save-Data DNT
    Connect-UDP-Bind`,
  'describes the answer, or the resource at its URL': `
    Accept-Patch Accept-Post Accept-Ranges Accept-Signature Age Allow ALPN Alternates
    Cal-Managed-ID CalDAV-Timezones Capsule-Protocol Cert-Not-After Cert-Not-Before Configuration-Context
    CMSD-Dynamic CMSD-Static Compliance Content-Base Content-Digest Content-Disposition Content-Encoding
    Content-ID Content-Identifier Content-Language Content-Location Content-MD5 Content-Range
    Content-Script-Type Content-Style-Type Content-Type Content-Version Cost DASL Date DAV Default-Style
    Delta-Base Delta-Link Deprecation Derived-From Dictionary-ID Differential-ID Digest DPoP-Nonce
    EDIINT-Features ETag IM Include-Referred-Token-Binding-ID Incremental Last-Modified Link Link-Template
    Location Lock-Token Memento-Datetime Meter MIME-Version OData-EntityId OData-Version OSCORE
    OSLC-Core-Version P3P PICS-Label Preference-Applied Priority Proxy-Status Public Refresh
    Repeatability-Result Replay-Nonce Repr-Digest Resolution-Hint Resolver-Location Retry-After Safe
    Schedule-Tag Server Server-Timing Set-Txn SetProfile Signature Signature-Input SourceMap Status-URI
    Sunset TCN Tk Unencoded-Digest URI Version Via Warning X-Content-Type-Options X-Device-Accept-Ranges
    X-Robots-Tag X-SourceMap`,
  'is for the cache of the answer alone': `
    Cache-Control Cache-Groups Cache-Status Cache-Tag CDN-Cache-Control Expires No-Vary-Search Pragma
    Surrogate-Key Variant-Vary Vary`,
  'grants other origins the answer alone': `
    Access-Control Access-Control-Allow-Credentials Access-Control-Allow-Headers
    Access-Control-Allow-Methods Access-Control-Allow-Origin Access-Control-Expose-Headers
    Access-Control-Max-Age Access-Control-Allow-Private-Network Cross-Origin-Resource-Policy Method-Check
    Method-Check-Expires Timing-Allow-Origin`,
  'is a rule for the page alone': `
    Activate-Storage-Access Ad-Auction-Allowed Ad-Auction-Signals Allow-CSP-From Content-Security-Policy
    Content-Security-Policy-Report-Only Cross-Origin-Embedder-Policy
    Cross-Origin-Embedder-Policy-Report-Only Cross-Origin-Opener-Policy
    Cross-Origin-Opener-Policy-Report-Only Document-Isolation-Policy Document-Policy
    Document-Policy-Report-Only Feature-Policy Integrity-Policy Integrity-Policy-Report-Only
    Permissions-Policy Permissions-Policy-Report-Only Referrer-Policy Reporting-Endpoints
    Require-Document-Policy Sec-Private-State-Token Speculation-Rules Supports-Loading-Mode X-DNS-Prefetch-Control
    X-Frame-Options X-XSS-Protection`,
  // On a shared origin, a page reads what another one answers to a password anyway.
  'asks for a password, which a shared origin cannot keep apart': `
    Authentication-Control Authentication-Info Optional-WWW-Authenticate Proxy-Authentication-Info
    WWW-Authenticate`,
  'belongs to an upgrade or extension, which is refused or has no effect': `
    C-Ext C-Man C-Opt C-PEP C-PEP-Info Close Ext Man Non-Compliance Opt Optional P PEP Pep-Info
    ProfileObject Protocol Protocol-Info Protocol-Query Protocol-Request Proxy-Features Proxy-Instruction
    Sec-WebSocket-Accept Sec-WebSocket-Extensions Sec-WebSocket-Protocol Sec-WebSocket-Version
    Security-Scheme X-Pad`,
  'orders what concerns its own answer alone': 'X-Accel-Buffering',
};

const words = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);
const registered = [HTTP_FIELDS, OF_BROWSERS, OF_PROXIES].flatMap(words);
const passing = Object.values(PASSES).flatMap(words);
/** Set by the host, or confined. */
const OF_THE_HOST = ['content-length', 'set-cookie', ...HOP_BY_HOP];
const isWithheld = (name: string) => WITHHELD['a shared origin'].why(name) !== undefined;

describe('a header of a registry', () => {
  test('is decided', () => {
    const decided = new Set([...passing, ...OF_THE_HOST]);
    expect(registered.filter((name) => !decided.has(name) && !isWithheld(name))).toEqual([]);
  });

  test('is decided once, and each decision is about one', () => {
    expect(passing.filter((name) => isWithheld(name) || OF_THE_HOST.includes(name))).toEqual([]);
    expect(passing.filter((name, at) => passing.indexOf(name) !== at)).toEqual([]);
    expect(passing.filter((name) => !registered.includes(name))).toEqual([]);
    const unheard = WITHHELD['a shared origin'].names.filter(
      (name) =>
        !registered.some((one) => (name.endsWith('*') ? one.startsWith(name.slice(0, -1)) : one === name)),
    );
    expect(unheard).toEqual([]);
  });

  test('that is withheld is in the contract, with its origins', () => {
    const page = readFileSync(join(ROOT, 'docs/contract/endpoints.md'), 'utf8');
    const rows = [...page.matchAll(/^\| (`.*`) \| .* \| (held back|passes) \|$/gm)];
    const written = (own: string) =>
      rows
        .filter(([, , on]) => on === own)
        .flatMap(([, names = '']) => names.replaceAll('`', '').split(', '));
    const { 'every origin': everywhere, 'a shared origin': shared } = WITHHELD;
    expect(written('held back').toSorted()).toEqual(everywhere.names.toSorted());
    const here = shared.names.filter((name) => !everywhere.names.includes(name));
    expect(written('passes').toSorted()).toEqual(here.toSorted());
  });
});

test.each([
  ['x-sendfile2', true],
  ['x-sendfile-temporary', true],
  ['x-litespeed-location', true],
  ['x-accel-buffering', false],
  ['content-type', false],
  ['constructor', false],
])('%s is withheld: %s', (name, expected) => expect(isWithheld(name)).toBe(expected));
