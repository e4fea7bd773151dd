// The kinds of load that differ only in what is asked; loads.ts has the others.
import { CONNECTIONS, KEYS_PATH, LISTED, USER, configMapPath } from './objects.ts'
import type { Asked } from './request.ts'
import { WAYS, type WayName } from './way.ts'

/** Files that loads read. */
export interface KindFiles {
  /** The file of a key whose scope grants none of these requests. */
  readonly scopedKey: string
  /** The file of a credential that is neither a key nor a token. */
  readonly unknownKey: string
  /** A merge patch whose value differs in each request. */
  readonly patch: string
}

/** A kind of load. */
export interface Kind {
  /** The ways that are worth measuring with it. */
  readonly ways: readonly WayName[]
  /** The request that a way gets. */
  readonly asked: (way: WayName, files: KindFiles) => Asked
  /** The path of an object that each load must change; absent = it only reads. */
  readonly changes?: string
}

/** RBAC grants the user nothing in this namespace. */
const FORBIDDEN = '/api/v1/namespaces/default/configmaps/small'
const SMALL = configMapPath('small')

/** The kinds by name. */
export const KINDS = {
  /** A ConfigMap of 1 kB. */
  get: { ways: WAYS, asked: () => ({ path: SMALL, status: 200 }) },
  /** 500 ConfigMaps of 1 kB. */
  list: {
    ways: WAYS,
    asked: () => ({ path: `/api/v1/namespaces/${LISTED}/configmaps`, status: 200 }),
  },
  /** Each connection patches a ConfigMap of its own. */
  patch: {
    ways: WAYS,
    changes: configMapPath(`patched-${CONNECTIONS - 1}`),
    asked: (_, { patch }) => ({
      path: configMapPath('patched-{connection}'),
      status: 200,
      flags: [
        '--method=PATCH',
        `--body-file=${patch}`,
        '--content-type=application/merge-patch+json',
      ],
    }),
  },
  /** The key that asks, as an object; the gateway hides its secret. */
  'own-key': {
    ways: ['direct', 'gateway'],
    asked: () => ({ path: `${KEYS_PATH}/${USER}`, status: 200 }),
  },
  'refused-rbac': {
    ways: ['direct', 'gateway', 'delegate'],
    asked: () => ({ path: FORBIDDEN, status: 403 }),
  },
  /** RBAC grants it and the scope does not, so that the gateway itself refuses; beside the API server's refusal. */
  'refused-scope': {
    ways: ['direct', 'gateway'],
    asked: (way, { scopedKey }) =>
      way === 'gateway'
        ? { path: SMALL, status: 403, credential: [`--token-file=${scopedKey}`] }
        : { path: FORBIDDEN, status: 403 },
  },
  'unknown-key': {
    ways: ['direct', 'gateway', 'delegate'],
    asked: (_, { unknownKey }) => ({
      path: SMALL,
      status: 401,
      credential: [`--token-file=${unknownKey}`],
    }),
  },
} as const satisfies Readonly<Record<string, Kind>>

/** The name of a kind. */
export type KindName = keyof typeof KINDS
