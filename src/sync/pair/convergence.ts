// Whether the patches of an object come to rest, before anything is written (contract 19.7).
import { createHash } from 'node:crypto'
import { canonicalJson, type Json, type JsonMap } from '../../domain/json/json.ts'
import { withoutVersion } from '../objects/server-fields.ts'
import { type Patch, readsConfig } from '../patches/parse.ts'

/** A set of patches is at rest when one more round after these changes nothing. */
const MOST_ROUNDS = 3

/** The state after one round, or its failure. */
type Round<State, Failed extends { readonly ok: false }> =
  | { readonly ok: true; readonly state: State }
  | Failed

/** The state at rest; isStable false = there is none, whether values repeat, grow or swap. */
type Settled<State> =
  | { readonly ok: true; readonly isStable: true; readonly state: State }
  | { readonly ok: true; readonly isStable: false }

/** Runs rounds until the state stays the same; a failed round ends them. */
export async function settle<State, Failed extends { readonly ok: false }>(
  start: State,
  round: (state: State) => Promise<Round<State, Failed>>,
  isSame: (before: State, after: State) => boolean,
): Promise<Settled<State> | Failed> {
  let state = start
  for (let rounds = 0; rounds <= MOST_ROUNDS; rounds += 1) {
    const next = await round(state)
    if (!next.ok) return next
    if (isSame(state, next.state)) return { ok: true, isStable: true, state }
    state = next.state
  }
  return { ok: true, isStable: false }
}

/**
 * Whether the result of the patches can depend on what they wrote before: by a value that they patch back, or by the
 * host object. It is a function of the virtual object alone otherwise, and at rest at once.
 */
export const mustSimulate = (patches: readonly Patch[]): boolean =>
  patches.some(
    (patch) =>
      patch.kind !== 'expression' ||
      patch.reverse !== null ||
      patch.forward?.reads.hostObject === true,
  )

/** What the verdict on an object depends on. */
interface Examined {
  readonly patches: readonly Patch[]
  /** The configuration that expressions read. */
  readonly config: JsonMap
  /** As last read. */
  readonly virtual: JsonMap
  /** As last read; null = it does not exist. */
  readonly host: JsonMap | null
}

/**
 * A digest of all that decided that patches are not stable, kept in the annotation NOT_STABLE of the host object: the
 * object is examined again when it is another one. Versions and the verdict itself are no part of it.
 */
export function verdictOf({ patches, config, virtual, host }: Examined): string {
  const examined: Json = [
    patches as unknown as Json,
    patches.some(readsConfig) ? config : null,
    withoutVersion(virtual),
    host && withoutVersion(host),
  ]
  return createHash('sha256').update(canonicalJson(examined)).digest('hex')
}
