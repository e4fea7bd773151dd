// Users and Teams on a control plane.
import { API_VERSION, TEAMS, USERS } from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import type { TeamSpec, TeamStatus } from '../../../src/api/team.gen.ts'
import type { UserSpec, UserStatus } from '../../../src/api/user.gen.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  type ObjectClient,
  type StoredObject,
  objectClientOf,
} from '../../support/object-client.ts'

/** A stored User; status is empty until the operator writes it. */
export interface StoredUser extends StoredObject {
  readonly spec: UserSpec
  readonly status: UserStatus
}

/** A stored Team; status is empty until the operator writes it. */
export interface StoredTeam extends StoredObject {
  readonly spec: TeamSpec
  readonly status: TeamStatus
}

/** The objects of a kind; `create` gives them a unique name unless metadata has one. */
interface PeopleClient<Kept extends StoredObject, Spec> extends Omit<ObjectClient<Kept>, 'create'> {
  create(spec?: Spec, metadata?: Partial<ObjectMeta>): Promise<Kept>
}

/** The Users of a control plane. */
export function userClientOf(
  plane: Pick<TestControlPlane, 'raw'>,
): PeopleClient<StoredUser, UserSpec> {
  const stored = objectClientOf<StoredUser>(plane, USERS)
  return {
    ...stored,
    create: (spec = {}, metadata = {}) =>
      stored.create({
        apiVersion: API_VERSION,
        kind: USERS.kind,
        metadata: { name: uniqueName('user'), ...metadata },
        spec,
      }),
  }
}

/** The Teams of a control plane. */
export function teamClientOf(
  plane: Pick<TestControlPlane, 'raw'>,
): PeopleClient<StoredTeam, TeamSpec> {
  const stored = objectClientOf<StoredTeam>(plane, TEAMS)
  return {
    ...stored,
    create: (spec = {}, metadata = {}) =>
      stored.create({
        apiVersion: API_VERSION,
        kind: TEAMS.kind,
        metadata: { name: uniqueName('team'), ...metadata },
        spec,
      }),
  }
}

/** Labels and annotations by which a GitOps tool says that it applies an object (contract 5.2). */
export const TRACKED = {
  'Argo CD': { annotations: { 'argocd.argoproj.io/tracking-id': 'platform:people' } },
  Flux: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'platform' } },
} as const
