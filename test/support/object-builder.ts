// Objects for tests: a row names what differs, the builder fills in the rest.
import { randomUUID } from 'node:crypto'
import type { AccessKeyClaim } from '../../src/api/accesskeyclaim.gen.ts'
import type { Config } from '../../src/api/config.gen.ts'
import {
  ACCESS_KEY_CLAIMS,
  ACCESS_KEYS,
  API_VERSION,
  CONFIGS,
  type Resource,
  TEAMS,
  USERS,
} from '../../src/api/names.ts'
import type { KubeObject, ObjectMeta } from '../../src/api/objects.ts'
import type { OwnedAccessKey, OwnedAccessKeySpec } from '../../src/api/ownedaccesskey.gen.ts'
import type { Team } from '../../src/api/team.gen.ts'
import type { User } from '../../src/api/user.gen.ts'
import type { NewObject } from '../../src/kube/client/client.ts'

/** The fields of an object that a row of a table names. */
export type Parts<Object extends Pick<KubeObject, 'spec' | 'status'>> = Partial<
  Pick<Object, 'spec' | 'status'>
> & { readonly metadata?: Partial<ObjectMeta> }

/** A key as the API server has it: of user ada, created 2026-11-21T10:00:00Z, nothing done to it yet. */
export function keyObject({ metadata, ...rest }: Parts<OwnedAccessKey> = {}): OwnedAccessKey {
  return { ...stored(ACCESS_KEYS, { name: 'ci', ...metadata }), spec: { user: 'ada' }, ...rest }
}

/** The Config in force as the API server has it: created 2026-11-21T10:00:00Z, empty. */
export function configObject({ metadata, ...rest }: Parts<Config> = {}): Config {
  const named = { name: 'platform-manager-config', ...metadata }
  return { ...stored(CONFIGS, named), spec: {}, ...rest }
}

/** A User as the API server has it: ada, created 2026-11-21T10:00:00Z, nothing done to it yet. */
export const userObject = ({ metadata, ...rest }: Parts<User> = {}): User => ({
  ...stored(USERS, { name: 'ada', ...metadata }),
  spec: {},
  ...rest,
})

/** A Team as the API server has it: sre, created 2026-11-21T10:00:00Z, with nobody in it. */
export const teamObject = ({ metadata, ...rest }: Parts<Team> = {}): Team => ({
  ...stored(TEAMS, { name: 'sre', ...metadata }),
  spec: {},
  ...rest,
})

/** A claim as the API server has it: deploy of namespace shop, created 2026-11-21T10:00:00Z, nothing done to it yet. */
export const claimObject = ({ metadata, ...rest }: Parts<AccessKeyClaim> = {}): AccessKeyClaim => ({
  ...stored(ACCESS_KEY_CLAIMS, { name: 'deploy', namespace: 'shop', ...metadata }),
  spec: {},
  ...rest,
})

/** A key to create: of user ada unless the spec says otherwise, under a name of its own. */
export function newKey(
  spec: OwnedAccessKeySpec = {},
  metadata: Partial<ObjectMeta> = {},
): NewObject {
  return {
    apiVersion: API_VERSION,
    kind: ACCESS_KEYS.kind,
    metadata: { name: uniqueName('key'), ...metadata },
    spec: { user: 'ada', ...spec },
  }
}

/** A name that no other test uses, on a control plane that many share. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 13)}`
}

function stored({ kind }: Resource, metadata: Partial<ObjectMeta> & { readonly name: string }) {
  const defaults = {
    uid: `uid-${metadata.name}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-11-21T10:00:00Z',
  }
  return { apiVersion: API_VERSION, kind, metadata: { ...defaults, ...metadata } }
}
