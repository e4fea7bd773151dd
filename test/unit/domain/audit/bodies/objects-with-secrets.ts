// Objects with secrets in them, as canaries, and what is recorded of each.
import { generateKey } from '../../../../../src/issuance/new-object.ts'
import { tokenText } from '../../../../support/token-builder.ts'
import type { PathOfKind } from './recorded.ts'

/** A key, a token and Secret data, in clear and as stored: no record may have one. */
export const KEY = generateKey()
const JWT = tokenText({ sub: 'ada', exp: 1_900_000_000 })
export const PLAIN = 'hunter2-canary'
const BASE64 = Buffer.from(PLAIN).toString('base64')
export const CANARIES = [KEY, JWT, PLAIN, BASE64]

/** Our group. */
export const OURS = 'management.platform.sh'
/** The annotation of kubectl apply. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** The kind of a Secret. */
export const secret = { apiVersion: 'v1', kind: 'Secret' }

/** Objects with secrets, and what is recorded of them. */
export const OBJECTS: readonly {
  readonly name: string
  readonly path: PathOfKind
  readonly object: Readonly<Record<string, unknown>>
  readonly shown: Readonly<Record<string, unknown>>
}[] = [
  {
    name: 'a Secret',
    path: '/secrets',
    object: {
      ...secret,
      metadata: {
        name: 'a',
        labels: { app: 'x' },
        annotations: { note: 'y', token: JWT, [LAST_APPLIED]: `{"data":"${BASE64}"}` },
        managedFields: [{ manager: PLAIN }],
      },
      type: 'Opaque',
      immutable: false,
      data: { password: BASE64 },
      stringData: { password: PLAIN },
    },
    shown: {
      ...secret,
      metadata: {
        name: 'a',
        labels: { app: 'x' },
        annotations: { note: 'y', token: '<hidden>', [LAST_APPLIED]: '<hidden>' },
      },
      type: 'Opaque',
      immutable: false,
      data: '<hidden>',
      stringData: '<hidden>',
    },
  },
  {
    name: 'a Secret with mistyped and misplaced fields',
    path: '/secrets',
    object: {
      ...secret,
      metadata: { name: { nested: PLAIN }, password: PLAIN, labels: [PLAIN], uid: [PLAIN] },
      type: { nested: PLAIN },
      stringdata: { password: PLAIN },
      password: PLAIN,
      [KEY]: 1,
      spec: { data: PLAIN },
    },
    shown: {
      ...secret,
      metadata: { name: '<hidden>', password: '<hidden>', labels: '<hidden>', uid: '<hidden>' },
      type: '<hidden>',
      stringdata: '<hidden>',
      password: '<hidden>',
      '<hidden>': '<hidden>',
      spec: '<hidden>',
    },
  },
  {
    name: 'a TokenRequest',
    path: '/serviceaccounts/token',
    object: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: ['a'],
        expirationSeconds: 600,
        boundObjectRef: { kind: 'Pod', name: 'p' },
      },
      status: { token: PLAIN, expirationTimestamp: 't' },
    },
    shown: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: ['a'],
        expirationSeconds: 600,
        boundObjectRef: { kind: 'Pod', name: 'p' },
      },
      status: { token: '<hidden>', expirationTimestamp: 't' },
    },
  },
  {
    name: 'a TokenReview',
    path: 'authentication.k8s.io/tokenreviews',
    object: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: PLAIN, audiences: ['a'] },
      status: { authenticated: true, user: { username: 'ada', extra: { k: ['v', KEY] } } },
    },
    shown: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: '<hidden>', audiences: ['a'] },
      status: { authenticated: true, user: { username: 'ada', extra: { k: ['v', '<hidden>'] } } },
    },
  },
  {
    name: 'an access key',
    path: `${OURS}/ownedaccesskeys`,
    object: {
      apiVersion: `${OURS}/v1`,
      kind: 'OwnedAccessKey',
      metadata: { name: 'a', annotations: { note: `it is ${PLAIN}` } },
      spec: {
        user: 'ada',
        key: PLAIN,
        Key: PLAIN,
        scope: { roles: [{ role: 'agent', roles: PLAIN }] },
        identity: { userId: 'u', connectorData: BASE64, extraClaims: { c: PLAIN } },
        oidcLogin: { idToken: JWT, accessToken: PLAIN, refreshToken: BASE64, lastRefresh: 't' },
      },
      status: { keyID: '0011223344556677' },
    },
    shown: {
      apiVersion: `${OURS}/v1`,
      kind: 'OwnedAccessKey',
      metadata: { name: 'a', annotations: { note: 'it is <hidden>' } },
      spec: {
        user: 'ada',
        key: '<hidden>',
        Key: '<hidden>',
        scope: { roles: [{ role: 'agent', roles: '<hidden>' }] },
        identity: { userId: 'u', connectorData: '<hidden>', extraClaims: { c: '<hidden>' } },
        oidcLogin: '<hidden>',
      },
      status: { keyID: '0011223344556677' },
    },
  },
  {
    name: 'a token',
    path: `${OURS}/directclusterendpointtokens/status`,
    object: {
      apiVersion: `${OURS}/v1`,
      kind: 'DirectClusterEndpointToken',
      spec: { ttl: 60, token: PLAIN },
      status: { token: PLAIN, keyID: 'k', owner: { name: 'o', uid: 'u' } },
    },
    shown: {
      apiVersion: `${OURS}/v1`,
      kind: 'DirectClusterEndpointToken',
      spec: { ttl: 60, token: '<hidden>' },
      status: { token: '<hidden>', keyID: 'k', owner: { name: 'o', uid: 'u' } },
    },
  },
  {
    name: 'a Config',
    path: `${OURS}/configs`,
    object: {
      apiVersion: `${OURS}/v1`,
      kind: 'Config',
      spec: {
        auth: {
          oidc: { issuerUrl: `https://u:${PLAIN}@host/`, clientSecret: PLAIN, clientID: PLAIN },
          accessKeyMaxTTLSeconds: 60,
        },
        database: { dataSource: '$PLATFORM_CONFIG_DB', extraArgs: [PLAIN] },
      },
      status: { auth: { oidc: { clientSecret: 'REDACTED' } }, platformHost: 'h', other: PLAIN },
    },
    shown: {
      apiVersion: `${OURS}/v1`,
      kind: 'Config',
      spec: {
        auth: {
          oidc: {
            issuerUrl: 'https://<hidden>@host/',
            clientSecret: '<hidden>',
            clientID: '<hidden>',
          },
          accessKeyMaxTTLSeconds: 60,
        },
        database: { dataSource: '$PLATFORM_CONFIG_DB', extraArgs: ['<hidden>'] },
      },
      status: {
        auth: { oidc: { clientSecret: '<hidden>' } },
        platformHost: 'h',
        other: '<hidden>',
      },
    },
  },
  {
    name: 'another kind of our group',
    path: `${OURS}/logins`,
    object: { apiVersion: `${OURS}/v2`, kind: 'Login', metadata: { name: 'a' }, spec: PLAIN },
    shown: { apiVersion: `${OURS}/v2`, kind: 'Login', metadata: { name: 'a' }, spec: '<hidden>' },
  },
]
