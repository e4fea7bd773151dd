// Who may name which owner, and let it wait for what it owns.
import type { KubeObject, OwnerReference } from '../../../src/api/objects.ts'
import { WRITES, onPlatformKinds } from './rbac-users.ts'
import type { Manifest, Row } from './write-methods.ts'

/** What each caller may beside reading and writing our kinds. */
export const OWNER_CALLERS = {
  writer: [WRITES],
  lessee: [WRITES, onPlatformKinds(['use'], ['ownedaccesskeys'], ['one', 'two'])],
  user: [WRITES, onPlatformKinds(['use'], ['ownedaccesskeys'])],
  deleter: [
    WRITES,
    onPlatformKinds(['use', 'delete'], ['ownedaccesskeys'], ['one']),
    onPlatformKinds(['use'], ['ownedaccesskeys']),
    onPlatformKinds(['delete'], ['directclusterendpointtokens', 'configs'], ['one']),
  ],
} as const

type Caller = keyof typeof OWNER_CALLERS

/** Objects to be named as owners. */
export interface Owners {
  readonly one: KubeObject
  readonly two: KubeObject
  readonly three: KubeObject
  readonly token: KubeObject
  readonly config: KubeObject
  /** No kind of ours. */
  readonly role: KubeObject
}

/** A reference to that object. */
export const ownedBy = (
  { apiVersion, kind, metadata: { name, uid } }: KubeObject,
  more: Partial<OwnerReference> = {},
): OwnerReference => ({ apiVersion, kind, name, uid, ...more })

interface Case {
  readonly name: string
  readonly by: Caller
  /** The owners before; absent, the object is made. */
  readonly from?: readonly OwnerReference[]
  readonly to: readonly OwnerReference[]
  /** Whether something else of the object changes, too. */
  readonly noted?: true
  /** Keys on which the verb use is missing. */
  readonly lacksUse?: readonly string[]
  /** Objects on which the verb delete is missing. */
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

/** Each way of naming an owner, by who may and who may not. */
export function ownerRows({
  one,
  two,
  three,
  token,
  config,
  role,
}: Owners): readonly Row<Caller>[] {
  const [ownedByOne, controlled] = [ownedBy(one), ownedBy(one, CONTROLLER)]
  const [ownedByTwo, ownedByThree] = [ownedBy(two), ownedBy(three)]
  const unserved = ownedBy(one, { apiVersion: 'management.platform.sh/v9' })
  const renamed = { ...ownedByOne, name: 'two' }
  // biome-ignore format: a table
  const cases: readonly Case[] = [
    { name: 'an object under a key', by: 'writer', to: [controlled], lacksUse: ['one'] },
    { name: 'an object under a key that does not control it', by: 'writer', to: [ownedByOne], lacksUse: ['one'] },
    { name: 'an object under a key in an unserved version', by: 'writer', to: [unserved], lacksUse: ['one'] },
    { name: 'an object under other kinds', by: 'writer', to: [ownedBy(token), ownedBy(config), ownedBy(role)] },
    { name: 'an object under a key', by: 'lessee', to: [controlled] },
    { name: 'an object under two keys', by: 'lessee', to: [controlled, ownedByTwo] },
    { name: 'an object under a key that the caller may not use', by: 'lessee', to: [ownedByThree], lacksUse: ['three'] },
    { name: 'an object under that and one that the caller may use', by: 'lessee', to: [ownedByOne, ownedByThree], lacksUse: ['one', 'three'] },
    { name: 'an object under three keys', by: 'user', to: [ownedByOne, ownedByTwo, ownedByThree], tooMany: THREE_OWNERS },
    { name: 'no owner to a key', by: 'writer', from: [], to: [ownedByOne], lacksUse: ['one'] },
    { name: 'one key to another', by: 'writer', from: [controlled], to: [ownedBy(two, CONTROLLER)], lacksUse: ['two'] },
    { name: 'a key to another name of its uid', by: 'writer', from: [ownedByOne], to: [renamed], lacksUse: ['two'] },
    { name: 'an owner to the controller', by: 'writer', from: [ownedByOne], to: [controlled], lacksUse: ['one'] },
    { name: 'the controller to an owner', by: 'writer', from: [controlled], to: [ownedByOne] },
    { name: 'two keys to one', by: 'writer', from: [controlled, ownedByTwo], to: [ownedByTwo] },
    { name: 'a key to no owner', by: 'writer', from: [controlled], to: [] },
    { name: 'not the owner', by: 'writer', from: [controlled], to: [controlled], noted: true },
    { name: 'no owner to a key', by: 'lessee', from: [], to: [controlled] },
  ]
  return cases.map(rowOf)
}

/** Each way of letting an owner wait, by who may and who may not. */
export function blockRows({
  one,
  two,
  three,
  token,
  config,
  role,
}: Owners): readonly Row<Caller>[] {
  const [key, waits, lets] = [ownedBy(one), ownedBy(one, BLOCK), { blockOwnerDeletion: false }]
  const [otherWaits, thirdWaits] = [ownedBy(two, BLOCK), ownedBy(three, BLOCK)]
  const [tokenWaits, configWaits] = [ownedBy(token, BLOCK), ownedBy(config, BLOCK)]
  const renamed = { ...waits, name: 'two' }
  // biome-ignore format: a table
  const cases: readonly Case[] = [
    { name: 'an object for which a key waits', by: 'writer', to: [waits], lacksDelete: ['ownedaccesskeys/one'] },
    { name: 'an object for which a key waits', by: 'user', to: [waits], lacksDelete: ['ownedaccesskeys/one'] },
    { name: 'an object for which a token waits', by: 'user', to: [tokenWaits], lacksDelete: ['directclusterendpointtokens/one'] },
    { name: 'an object for which a Config waits', by: 'user', to: [configWaits], lacksDelete: ['configs/one'] },
    { name: 'an object for which no key waits', by: 'user', to: [ownedBy(one, lets)] },
    { name: 'an object for which a foreign kind waits', by: 'writer', to: [ownedBy(role, BLOCK)] },
    { name: 'an object for which a key waits', by: 'deleter', to: [waits] },
    { name: 'an object for which a token and a Config wait', by: 'deleter', to: [tokenWaits, configWaits] },
    { name: 'an object for which another key waits', by: 'deleter', to: [otherWaits], lacksDelete: ['ownedaccesskeys/two'] },
    { name: 'an object for which three wait', by: 'deleter', to: [thirdWaits, tokenWaits, configWaits], tooMany: THREE_WAIT },
    { name: 'the owner to one that waits', by: 'user', from: [key], to: [waits], lacksDelete: ['ownedaccesskeys/one'] },
    { name: 'the owner to one that waits', by: 'deleter', from: [key], to: [waits] },
    { name: 'the owner that waits to another', by: 'user', from: [waits], to: [otherWaits], lacksDelete: ['ownedaccesskeys/two'] },
    { name: 'the name of the owner that waits', by: 'user', from: [waits], to: [renamed], lacksDelete: ['ownedaccesskeys/two'] },
    { name: 'the owner to one that does not wait', by: 'writer', from: [waits], to: [key] },
    { name: 'not the owner that waits', by: 'writer', from: [waits], to: [waits], noted: true },
    { name: 'the owner that waits to none', by: 'writer', from: [waits], to: [] },
  ]
  return cases.map(rowOf)
}

const THREE_OWNERS = '3 access keys are new as owners; name the one that is to own the object'
const THREE_WAIT = 'blockOwnerDeletion is new on 3 references; set it on at most two in one request'
