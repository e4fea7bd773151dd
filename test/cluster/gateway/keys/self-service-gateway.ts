// One front, and callers with every kind of key, for all tests of self-service.
import { beforeAll } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { privateControlPlane } from '../../../support/control-plane.ts'
import { eventually } from '../../../support/eventually.ts'
import { bindRole } from '../../policies/rbac-users.ts'
import { type TestGateway, SOON, startTestGateway } from '../test-gateway.ts'
import { type Answered, type Hand, type Held, hand, inHand } from './self-service-clients.ts'

/** A scope, and one within it. */
export const SHOP = { projects: [{ project: 'shop' }] }
export const CORNER = { spaces: [{ project: 'shop', space: 'corner' }] }
/** The first, with the right to work with our kinds at all. */
export const KEEPER = {
  ...SHOP,
  rules: [{ resources: [{ group: 'management.platform.sh' }], requestTargets: ['Management'] }],
}

const CALLERS = {
  /** In person. */
  person: { user: 'ada', type: 'Login', groups: ['dev'] },
  plain: { user: 'ada', type: 'User' },
  ending: { user: 'ada', type: 'User', ttl: 3600 },
  scoped: { user: 'ada', type: 'User', scope: KEEPER },
  /** May do everything that RBAC grants. */
  root: { user: 'root-user', type: 'Login' },
  rootPlain: { user: 'root-user', type: 'User' },
  rootTeam: { user: '', team: 'admins', type: 'User' },
  rootScoped: { user: 'root-user', type: 'Login', scope: KEEPER },
  team: { user: '', team: 'ops', type: 'User' },
} as const satisfies Readonly<Record<string, OwnedAccessKeySpec>>

/** The callers; the child is a key that was made with the plain one. */
export type By = keyof typeof CALLERS | 'child'

/** The front and who calls it. */
export interface World extends TestGateway {
  /** Filled before the first test. */
  readonly hands: Readonly<Record<By, Hand>>
  /** Makes a key through the gateway. */
  readonly make: (by: By | Hand, spec?: OwnedAccessKeySpec, metadata?: object) => Promise<Answered>
  /** The code that a key gets, whatever it may do. */
  readonly opens: (key: string | undefined) => Promise<number>
  /** The key that an answer shows, once the gateway takes it. */
  readonly held: (answer: { readonly json: Held }) => Promise<Hand>
}

/** Starts it, for one test file. */
export async function startWorld(): Promise<World> {
  const front = await startTestGateway(await privateControlPlane())
  const hands = {} as Record<By, Hand>
  beforeAll(async () => {
    for (const user of ['root-user', 'platform:team:admins'])
      await bindRole(front.plane, user, 'cluster-admin')
    for (const by of Object.keys(CALLERS) as (keyof typeof CALLERS)[])
      hands[by] = await hand(front, CALLERS[by])
    hands.child = await held(await make('plain'))
  })
  const opens: World['opens'] = async (key) => (await front.ask(key ?? '', '/version')).code
  const make: World['make'] = (by, spec = {}, metadata = {}) => {
    const caller = typeof by === 'string' ? hands[by] : by
    return caller.ask('POST', 'ownedaccesskeys', { body: { metadata, spec } })
  }
  const held: World['held'] = async ({ json }) => {
    const object = await front.keys.shown(json, 'Active')
    const isTaken = async () => (await opens(json.spec.key)) === 200 || undefined
    await eventually('the gateway takes the key', isTaken, SOON)
    return inHand(front, { object, token: json.spec.key ?? '', kubeconfig: '' })
  }
  return { ...front, hands, opens, make, held }
}
