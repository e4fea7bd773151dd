// Keys, tokens and callers for tests of self-service, as plain JSON.
import { API_VERSION, CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import type { CallerAccess } from '../../../../src/gateway/selfservice/request.ts'

/** What an object differs in. */
export interface Parts {
  readonly metadata?: JsonMap
  readonly spec?: JsonMap
  readonly status?: JsonMap
}

const CREATED = '2026-11-21T10:00:00Z'

/** The creation of these objects, in epoch milliseconds. */
export const t0 = Date.parse(CREATED)

/** The moment that many seconds after t0. */
export const after = (seconds: number): number => t0 + seconds * 1000

/** What the gateway adds to a key that it creates. */
export const MARKS: JsonMap = {
  finalizers: [REVOKE_FINALIZER],
  annotations: { [CREATED_ANNOTATION]: CREATED },
}

/** A stored key of user ada. */
export const key = ({ metadata, spec, status }: Parts = {}): JsonMap => ({
  apiVersion: API_VERSION,
  kind: 'OwnedAccessKey',
  metadata: { name: 'ci', uid: 'uid-ci', creationTimestamp: CREATED, ...MARKS, ...metadata },
  spec: { user: 'ada', ...spec },
  ...(status ? { status } : {}),
})

/** The label of a key that was created with key ci. */
export const MADE_WITH_CI: JsonMap = { 'management.platform.sh/made-with': 'uid-ci' }

/** A key as a dry run of its creation returns it, without what only the store sets. */
export const newKey = ({ metadata, spec }: Parts = {}): JsonMap =>
  key({ metadata: { annotations: {}, labels: MADE_WITH_CI, ...metadata }, spec: { ...spec } })

/** A reference to an access key as the owner of something. */
export const owner = (name: string, uid = `uid-${name}`): JsonMap => ({
  apiVersion: API_VERSION,
  kind: 'OwnedAccessKey',
  name,
  uid,
  controller: true,
})

/** A stored token that key ci owns. */
export const token = ({ metadata, spec, status }: Parts = {}): JsonMap => ({
  apiVersion: API_VERSION,
  kind: 'DirectClusterEndpointToken',
  metadata: {
    name: 'direct',
    uid: 'uid-direct',
    creationTimestamp: CREATED,
    ownerReferences: [owner('ci')],
    ...metadata,
  },
  spec: { ...spec },
  ...(status ? { status } : {}),
})

/** A scope that grants one project. */
export const project = (name: string): { readonly projects: [{ readonly project: string }] } => ({
  projects: [{ project: name }],
})

const ADA = { user: 'ada', runsAs: 'ada', key: { name: 'ci', uid: 'uid-ci' } } as const

/** Callers of user ada by the keys that they call with, and one of a team. */
export const callers = {
  /** With a Login key: the user acts in person. */
  person: { ...ADA, groups: ['dev'], scope: null, isPerson: true, expiresMs: null },
  /** With a key of type User that has no scope and no end. */
  plain: { ...ADA, groups: ['dev'], scope: null, isPerson: false, expiresMs: null },
  /** With a key that ends an hour after t0. */
  ending: {
    ...ADA,
    groups: [],
    scope: null,
    isPerson: false,
    expiresMs: after(3600),
  },
  /** With a key for project shop. */
  scoped: {
    ...ADA,
    groups: [],
    scope: project('shop'),
    isPerson: false,
    expiresMs: null,
  },
  /** With a Login key for project shop. */
  login: {
    ...ADA,
    groups: [],
    scope: project('shop'),
    isPerson: false,
    expiresMs: null,
  },
  /** With the key of a team. */
  team: {
    ...ADA,
    user: null,
    runsAs: 'platform:team:ops',
    groups: [],
    scope: null,
    isPerson: false,
    expiresMs: null,
  },
} as const satisfies Readonly<Record<string, CallerAccess>>
