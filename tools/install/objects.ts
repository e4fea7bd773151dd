// Claims, access keys, tokens, Users and Teams of a cluster from which the operator is removed.
import {
  ACCESS_KEYS,
  ACCESS_KEY_CLAIMS,
  GROUP,
  HEARTBEAT_NAME,
  REVOKE_FINALIZER,
  TEAMS,
  TOKENS,
  USERS,
} from '../../src/api/names.ts'
import { kubectl, must } from './kubectl.ts'

/** An object with the operator's finalizer, or one that may get it. */
export interface Held {
  /** As kubectl names its kind, such as `ownedaccesskeys.management.platform.sh`. */
  readonly kind: string
  /** Empty = it has none. */
  readonly namespace: string
  readonly name: string
  readonly finalizers: readonly string[]
  /** When it ends, RFC 3339; empty = never, or not known. */
  readonly expires: string
}

/** Claims first: one that stands would get another key in place of the deleted one. */
const KINDS = [ACCESS_KEY_CLAIMS, ACCESS_KEYS, TOKENS, USERS, TEAMS].map(
  ({ plural }) => `${plural}.${GROUP}`,
)
const [CLAIM_KIND, , TOKEN_KIND] = KINDS
const ROW =
  '{.metadata.namespace}{"\\t"}{.metadata.name}{"\\t"}{.metadata.finalizers}{"\\t"}{.status.expirationTimestamp}{"\\n"}'
/** kubectl patches as many in one call. */
const BATCH = 100

/** Whether it is a claim, which the delivery process ends. */
export const isClaim = ({ kind }: Held): boolean => kind === CLAIM_KIND

/** Whether it is a token. */
export const isToken = ({ kind }: Held): boolean => kind === TOKEN_KIND

/** How many of each kind there are, as text: of claims, people and teams only where there are any. */
export function countText(held: readonly Held[]): string {
  const [claims, keys, tokens, users, teams] = KINDS.map(
    (kind) => held.filter((one) => one.kind === kind).length,
  )
  const people = [users ? `, users: ${users}` : '', teams ? `, teams: ${teams}` : '']
  const first = claims ? `claims: ${claims}, ` : ''
  return `${first}access keys: ${keys}, tokens: ${tokens}${people.join('')}`
}

/** Whether the operator still has work to do on it, or did not do it. */
export const isOurs = ({ finalizers }: Held): boolean => finalizers.includes(REVOKE_FINALIZER)

/**
 * Those that are there; none where their kinds are not. Not the gateways' own, which hold nothing and which
 * they make again as long as they run: they go with their kinds.
 *
 * @throws Error when kubectl fails
 */
export async function heldObjects(): Promise<readonly Held[]> {
  const found = await Promise.all(KINDS.map((kind) => heldOf(kind)))
  return found.flat()
}

async function heldOf(kind: string): Promise<readonly Held[]> {
  if (!(await isServed(kind))) return []
  const args = ['get', kind, '--all-namespaces', '-o', `jsonpath={range .items[*]}${ROW}{end}`]
  const { code, stdout, stderr } = await kubectl(args)
  // The kind may go while its last objects do.
  if (code !== 0 && !(await isServed(kind))) return []
  if (code !== 0) throw new Error(`kubectl get ${kind} failed:\n${stderr.trim()}`)
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [namespace = '', name = '', finalizers = '', expires = ''] = line.split('\t')
      return { kind, namespace, name, finalizers: listIn(finalizers), expires }
    })
    .filter(({ namespace, name }) => namespace !== '' || name !== HEARTBEAT_NAME)
}

const isServed = async (kind: string): Promise<boolean> =>
  (await must(['get', 'crd', kind, '--ignore-not-found', '-o', 'name'])) !== ''

/** kubectl prints a list as JSON. */
const listIn = (text: string): readonly string[] =>
  text === '' ? [] : (JSON.parse(text) as readonly string[])

/** Requests the deletion of all, and does not wait for its end. @throws Error when kubectl fails */
export async function deleteAll(held: readonly Held[]): Promise<void> {
  for (const kind of new Set(held.map((one) => one.kind)))
    await must(['delete', kind, '--all', '--all-namespaces', '--wait=false'])
}

/**
 * Takes the operator's finalizer off, in its place. One that changes at the same moment is left for the
 * next look, as whoever changes it may do the same.
 */
export async function letGo(held: readonly Held[]): Promise<void> {
  const alike = Map.groupBy(held.filter(isOurs), ({ kind, finalizers, namespace }) =>
    [kind, finalizers.indexOf(REVOKE_FINALIZER), namespace].join(' '),
  )
  for (const [key, group] of alike) {
    const [kind = '', index, namespace = ''] = key.split(' ')
    const place = namespace === '' ? [] : ['--namespace', namespace]
    const path = `/metadata/finalizers/${index}`
    const patch = JSON.stringify([
      { op: 'test', path, value: REVOKE_FINALIZER },
      { op: 'remove', path },
    ])
    const names = group.map(({ name }) => name)
    for (let at = 0; at < names.length; at += BATCH)
      await patched([
        'patch',
        kind,
        ...place,
        ...names.slice(at, at + BATCH),
        '--type=json',
        '-p',
        patch,
      ])
  }
}

async function patched(args: readonly string[]): Promise<void> {
  const { stderr } = await kubectl(args)
  if (stderr.includes('Forbidden') || stderr.includes('forbidden'))
    throw new Error(`cannot remove the finalizer:\n${stderr.trim()}`)
}
