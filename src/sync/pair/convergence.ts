// Whether the patches of an object converge, decided before anything is written (contract 19.7).
import { createHash } from 'node:crypto'
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { canonicalJson, type Json, type JsonMap, sameJson } from '../../domain/json/json.ts'
import type { KindTranslator } from '../kinds/translator.ts'
import { NOT_STABLE, withoutVersion } from '../objects/server-fields.ts'
import { type Patch, readsConfig } from '../patches/parse.ts'
import type { Evaluate } from '../sandbox/protocol.ts'
import { metadataOf, type ObjectPair, type TranslationSettings, translate } from './translation.ts'

/** Patches converge when one more round after these changes nothing. */
const MOST_ROUNDS = 3

/** The state after one round, or its failure. */
type Round<State, Failed extends { readonly ok: false }> =
  | { readonly ok: true; readonly state: State }
  | Failed

/** The state that further rounds leave as it is; isStable false = there is none: values repeat, grow or swap. */
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
 * Whether the result of the patches can depend on their own earlier result: by a value that they patch back, or by the
 * host object. It is a function of the virtual object alone otherwise, and converges at once.
 */
export const mustSimulate = (patches: readonly Patch[]): boolean =>
  patches.some(
    (patch) =>
      patch.kind !== 'expression' ||
      patch.reverse !== null ||
      patch.forward?.reads.hostObject === true,
  )

/** The inputs of a verdict. */
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
 * A digest of everything that the decision on convergence depends on, without versions and the verdict itself. The host
 * object of a pair that does not converge keeps it in its annotation NOT_STABLE: the pair is examined again when the
 * digest has changed.
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

/** The verdict that a host object keeps; empty = it keeps none. */
export const verdictKeptOn = (host: JsonMap | null): string =>
  nestedString(host ?? undefined, ['metadata', 'annotations', NOT_STABLE])

/** Whether the patches converge when both objects are written as wanted, and the failure of a patch in a later round. */
export function convergence(
  existing: ObjectPair,
  wanted: ObjectPair,
  settings: TranslationSettings,
  evaluate: Evaluate,
) {
  if (samePair(wanted, existing)) return { ok: true, isStable: true } as const
  const written = (before: ObjectPair, after: ObjectPair): ObjectPair =>
    afterWrite({ before, wanted: after, existing }, settings.translator)
  const next = async (state: ObjectPair) => {
    const round = await translate(state, metadataOf(state), settings, evaluate)
    return round.ok ? { ...round, state: written(state, round.state) } : round
  }
  return settle(written(existing, wanted), next, samePair)
}

/** A write in a simulated round. */
interface SimulatedWrite {
  readonly before: ObjectPair
  readonly wanted: ObjectPair
  /** The objects as last read. */
  readonly existing: ObjectPair
}

/**
 * The objects after a write: a host object whose change is refused is deleted first. A new one has an identity, which
 * expressions can read; the identity of the existing one stands in for it.
 */
function afterWrite(
  { before, wanted, existing }: SimulatedWrite,
  { needsRecreation }: Pick<KindTranslator, 'needsRecreation'>,
): ObjectPair {
  if (wanted.host === null) return wanted
  if (before.host !== null)
    return needsRecreation(wanted.host, before.host) ? { ...wanted, host: null } : wanted
  const { uid = 'new', creationTimestamp = 'new' } = nestedMap(existing.host ?? {}, ['metadata'])
  const metadata = { ...nestedMap(wanted.host, ['metadata']), uid, creationTimestamp }
  return { ...wanted, host: { ...wanted.host, metadata } }
}

/** Whether the syncer would write neither object. */
const samePair = (one: ObjectPair, other: ObjectPair): boolean =>
  sameJson(one.virtual, other.virtual) &&
  (one.host === null || other.host === null
    ? one.host === other.host
    : sameJson(one.host, other.host))
