// Which callers may name which owner in an ownerReference, and set blockOwnerDeletion on it (threats E1).
import { ACCESS_KEYS, type Resource } from '../../../src/api/names.ts'
import type { KubeObject, OwnerReference } from '../../../src/api/objects.ts'
import { WRITES, onPlatformKinds } from './rbac-users.ts'
import type { Manifest, Row } from './write-methods.ts'

/** The grants of each caller. */
export const OWNER_CALLERS = {
  writer: [WRITES],
  limitedUser: [WRITES, onPlatformKinds(['use'], ['ownedaccesskeys'], ['one', 'two'])],
  user: [WRITES, onPlatformKinds(['use'], ['ownedaccesskeys'])],
  deleter: [
    WRITES,
    onPlatformKinds(['use', 'delete'], ['ownedaccesskeys'], ['one']),
    onPlatformKinds(['use'], ['ownedaccesskeys']),
    onPlatformKinds(
      ['delete'],
      ['directclusterendpointtokens', 'configs', 'users', 'teams'],
      ['one'],
    ),
  ],
} as const

type Caller = keyof typeof OWNER_CALLERS

/** Objects that the rows name as owners. */
export interface Owners {
  readonly one: KubeObject
  readonly two: KubeObject
  readonly three: KubeObject
  readonly token: KubeObject
  readonly config: KubeObject
  readonly user: KubeObject
  readonly team: KubeObject
  /** An object of a foreign kind. */
  readonly role: KubeObject
}

/** An ownerReference to an object. */
export const ownedBy = (
  { apiVersion, kind, metadata: { name, uid } }: KubeObject,
  more: Partial<OwnerReference> = {},
): OwnerReference => ({ apiVersion, kind, name, uid, ...more })

interface Case {
  readonly name: string
  readonly by: Caller
  /** The stored owners; absent = the object is created. */
  readonly from?: readonly OwnerReference[]
  readonly to: readonly OwnerReference[]
  /** An annotation changes too. */
  readonly noted?: true
  /** Keys on which the caller lacks the verb use. */
  readonly lacksUse?: readonly string[]
  /** Objects on which the caller lacks the verb delete. */
  readonly lacksDelete?: readonly string[]
  readonly tooMany?: string
}

const CONTROLLER = { controller: true }
const BLOCK = { blockOwnerDeletion: true }

const rowOf = ({ name, by, from, to, noted, ...reasons }: Case): Row<Caller> => {
  const refused = refusalOf(by, reasons)
  const annotations = noted && { annotations: { note: 'changed' } }
  return {
    name,
    by,
    ...(from && { from: withOwners(from) }),
    to: withOwners(to, annotations),
    ...(refused && { refused }),
  }
}

const withOwners = (ownerReferences: readonly OwnerReference[], more: object = {}): Manifest => ({
  metadata: { ...more, ...(ownerReferences.length > 0 && { ownerReferences }) },
  spec: {},
})

function refusalOf(
  by: Caller,
  { lacksUse, lacksDelete, tooMany }: Pick<Case, 'lacksUse' | 'lacksDelete' | 'tooMany'>,
): Row<Caller>['refused'] {
  const says = (what: string) => `metadata.ownerReferences: ${what}`
  if (tooMany !== undefined) return { code: 422, says: says(tooMany) }
  const lacks = (verb: string, on: readonly string[], instead: string) =>
    `needs the verb ${verb} on ${on.join(', ')}, which ${by} does not have; leave ${instead} out, or have that granted`
  if (lacksDelete) {
    const what = lacks('delete', lacksDelete, 'blockOwnerDeletion')
    return { code: 422, says: says(`setting blockOwnerDeletion ${what}`) }
  }
  if (!lacksUse) return undefined
  const keys = lacksUse.map((name) => `ownedaccesskeys/${name}`)
  const what = lacks('use', keys, 'the reference')
  return { code: 403, says: says(`naming an access key as owner ${what}`) }
}

/** A key that owns another one without being its controller gives it nothing: the reference takes no right (5.4, 5.5). */
function ofKey({ name, by, from, to, noted, lacksUse = [] }: Case): Case {
  const lacked = lacksUse.filter((key) =>
    to.some((reference) => reference.name === key && reference.controller),
  )
  return {
    name,
    by,
    to,
    ...(from && { from }),
    ...(noted && { noted }),
    ...(lacked.length > 0 && { lacksUse: lacked }),
  }
}

/** Each change of owners of a kind, by callers with and without the right. */
export function ownerRows(
  { one, two, three, token, config, role }: Owners,
  { kind }: Resource,
): readonly Row<Caller>[] {
  const [ownedByOne, controlled] = [ownedBy(one), ownedBy(one, CONTROLLER)]
  const [ownedByTwo, ownedByThree] = [ownedBy(two), ownedBy(three)]
  const unserved = ownedBy(one, { apiVersion: 'management.platform.sh/v9' })
  const renamed = { ...ownedByOne, name: 'two' }
  // biome-ignore format: a table
  const cases: readonly Case[] = [
    { name: 'an object with a key as controller', by: 'writer', to: [controlled], lacksUse: ['one'] },
    { name: 'an object with a key as owner, not as controller', by: 'writer', to: [ownedByOne], lacksUse: ['one'] },
    { name: 'an object with a key in an unserved version as owner', by: 'writer', to: [unserved], lacksUse: ['one'] },
    { name: 'an object with owners of other kinds', by: 'writer', to: [ownedBy(token), ownedBy(config), ownedBy(role)] },
    { name: 'an object with a key as controller', by: 'limitedUser', to: [controlled] },
    { name: 'an object with two keys as owners', by: 'limitedUser', to: [controlled, ownedByTwo] },
    { name: 'an object with a key as owner that the caller may not use', by: 'limitedUser', to: [ownedByThree], lacksUse: ['three'] },
    { name: 'an object with two keys as owners, one of which the caller may not use', by: 'limitedUser', to: [ownedByOne, ownedByThree], lacksUse: ['one', 'three'] },
    { name: 'an object with three keys as owners', by: 'user', to: [ownedByOne, ownedByTwo, ownedByThree], tooMany: THREE_OWNERS },
    { name: 'the owner from none to a key', by: 'writer', from: [], to: [ownedByOne], lacksUse: ['one'] },
    { name: 'the owner to another key', by: 'writer', from: [controlled], to: [ownedBy(two, CONTROLLER)], lacksUse: ['two'] },
    { name: 'the name of the owner, with its uid', by: 'writer', from: [ownedByOne], to: [renamed], lacksUse: ['two'] },
    { name: 'the owner to the controller', by: 'writer', from: [ownedByOne], to: [controlled], lacksUse: ['one'] },
    { name: 'the controller to an owner', by: 'writer', from: [controlled], to: [ownedByOne] },
    { name: 'the owners from two keys to one', by: 'writer', from: [controlled, ownedByTwo], to: [ownedByTwo] },
    { name: 'the owner to none', by: 'writer', from: [controlled], to: [] },
    { name: 'an annotation beside the owner', by: 'writer', from: [controlled], to: [controlled], noted: true },
    { name: 'the owner from none to a key', by: 'limitedUser', from: [], to: [controlled] },
  ]
  return cases.map(kind === ACCESS_KEYS.kind ? ofKey : (row) => row).map(rowOf)
}

/** Each change of blockOwnerDeletion, by callers with and without the right. */
export function blockRows({
  one,
  two,
  three,
  token,
  config,
  user,
  team,
  role,
}: Owners): readonly Row<Caller>[] {
  const [plain, blocked] = [ownedBy(one), ownedBy(one, BLOCK)]
  const notBlocked = ownedBy(one, { blockOwnerDeletion: false })
  const [otherBlocked, thirdBlocked] = [ownedBy(two, BLOCK), ownedBy(three, BLOCK)]
  const [tokenBlocked, configBlocked] = [ownedBy(token, BLOCK), ownedBy(config, BLOCK)]
  const peopleBlocked = [ownedBy(user, BLOCK), ownedBy(team, BLOCK)]
  const renamed = { ...blocked, name: 'two' }
  // biome-ignore format: a table
  const cases: readonly Case[] = [
    { name: 'an object that blocks the deletion of a key', by: 'writer', to: [blocked], lacksDelete: ['ownedaccesskeys/one'] },
    { name: 'an object that blocks the deletion of a key', by: 'user', to: [blocked], lacksDelete: ['ownedaccesskeys/one'] },
    { name: 'an object that blocks the deletion of a token', by: 'user', to: [tokenBlocked], lacksDelete: ['directclusterendpointtokens/one'] },
    { name: 'an object that blocks the deletion of a Config', by: 'user', to: [configBlocked], lacksDelete: ['configs/one'] },
    { name: 'an object that blocks the deletion of a User and a Team', by: 'user', to: peopleBlocked, lacksDelete: ['users/one', 'teams/one'] },
    { name: 'an object that blocks the deletion of a User and a Team', by: 'deleter', to: peopleBlocked },
    { name: 'blockOwnerDeletion of a User to true', by: 'user', from: [ownedBy(user)], to: [ownedBy(user, BLOCK)], lacksDelete: ['users/one'] },
    { name: 'an object with blockOwnerDeletion: false', by: 'user', to: [notBlocked] },
    { name: 'an object that blocks the deletion of a foreign kind', by: 'writer', to: [ownedBy(role, BLOCK)] },
    { name: 'an object that blocks the deletion of a key', by: 'deleter', to: [blocked] },
    { name: 'an object that blocks the deletion of a token and a Config', by: 'deleter', to: [tokenBlocked, configBlocked] },
    { name: 'an object that blocks the deletion of another key', by: 'deleter', to: [otherBlocked], lacksDelete: ['ownedaccesskeys/two'] },
    { name: 'an object that blocks the deletion of three owners', by: 'deleter', to: [thirdBlocked, tokenBlocked, configBlocked], tooMany: THREE_WAIT },
    { name: 'blockOwnerDeletion of the owner to true', by: 'user', from: [plain], to: [blocked], lacksDelete: ['ownedaccesskeys/one'] },
    { name: 'blockOwnerDeletion of the owner to true', by: 'deleter', from: [plain], to: [blocked] },
    { name: 'the blocked owner to another', by: 'user', from: [blocked], to: [otherBlocked], lacksDelete: ['ownedaccesskeys/two'] },
    { name: 'the name of the blocked owner', by: 'user', from: [blocked], to: [renamed], lacksDelete: ['ownedaccesskeys/two'] },
    { name: 'blockOwnerDeletion of the owner to absent', by: 'writer', from: [blocked], to: [plain] },
    { name: 'an annotation beside the blocked owner', by: 'writer', from: [blocked], to: [blocked], noted: true },
    { name: 'the blocked owner to none', by: 'writer', from: [blocked], to: [] },
  ]
  return cases.map(rowOf)
}

const THREE_OWNERS = '3 access keys are new as owners; name the one that is to own the object'
const THREE_WAIT = 'blockOwnerDeletion is new on 3 references; set it on at most two in one request'
