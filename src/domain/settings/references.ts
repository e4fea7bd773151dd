import type { JsonMap } from '../json/json.ts'
import { counterparts, valueAt } from './counterparts.ts'
import type { Secrecy } from './field-rules.ts'
import { type Layer, sourceAt } from './merge.ts'
import { REDACTED, treatments } from './redaction.ts'
import { type Fault, type Source, faultAt } from './validation/faults.ts'
import { type Leaf, isHidden, mapLeaves } from './walk.ts'

/** The operator's environment: the value of a variable, undefined when it is not set. */
export type Environment = (name: string) => string | undefined

/** Settings with the values of the environment in the place of `$NAME`. */
export interface Resolved {
  readonly settings: JsonMap
  readonly faults: readonly Fault[]
}

const ALMOST_REFERENCE = /^\$\{?PLATFORM_CONFIG/

const ADVICE =
  'write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put it into the Secret'

/**
 * Replaces `$NAME` in fields that may be secret by variables of the environment, what is hidden in a list
 * by the value of the Secret's entry that stands for the same, and faults literal secrets outside the
 * Secret and what is hidden and nowhere else (contract 6.3). What is at fault stays as it is, so that it
 * does not count as missing besides.
 *
 * A field of status that another manager owns is treated like spec: everybody reads it. In the
 * Secret a value that is not `$PLATFORM_CONFIG_<NAME>` is a literal, also when it begins with `$`.
 */
export function resolveReferences(
  merged: JsonMap,
  layers: readonly Layer[],
  environment: Environment,
): Resolved {
  const faults: Fault[] = []
  const secret = layers.find(({ source }) => source === 'Secret')?.settings ?? {}
  const inSecret = counterparts(merged, secret)
  const settings = mapLeaves(merged, (leaf) => {
    if (typeof leaf.value !== 'string') return leaf.value
    const source = sourceAt(layers, leaf.path) ?? 'spec'
    const stays = isHidden(leaf) && source !== 'Secret' ? valueAt(inSecret, leaf.path) : undefined
    const answer =
      typeof stays === 'string'
        ? resolveHidden(leaf, stays, environment)
        : resolve(leaf.value, leaf.rule.secrecy, source, environment)
    if ('value' in answer) return answer.value
    faults.push(faultAt(leaf.path, answer.source ?? source, answer.fault))
    return leaf.value
  })
  return { settings, faults }
}

/** `source`: where the fault is, if not where the value came from. */
type Answer = { readonly value: string } | { readonly fault: string; readonly source?: Source }

/** The Secret's value, where it is what the hidden one stands for: an address may be another by now. */
function resolveHidden(
  { value, rule: { secrecy } }: Leaf,
  stays: string,
  environment: Environment,
): Answer {
  const answer = resolve(stays, secrecy, 'Secret', environment)
  if ('fault' in answer) return { ...answer, source: 'Secret' }
  return treatments[secrecy].hide(answer.value) === value ? answer : { fault: HIDDEN.spec }
}

function resolve(
  value: string,
  secrecy: Secrecy,
  source: Source,
  environment: Environment,
): Answer {
  if (treatments[secrecy].isHidden(value))
    return { fault: source === 'Secret' ? HIDDEN.Secret : HIDDEN.spec }
  const name = variableIn(value, secrecy)
  if (name !== null) {
    const found = environment(name)
    if (found) return { value: found }
    return { fault: `names ${name}, which is not set in the operator's environment: set it` }
  }
  if (secrecy !== 'text' && ALMOST_REFERENCE.test(value))
    return { fault: 'is no whole $PLATFORM_CONFIG_<NAME>: use only A-Z, 0-9 and _ in the name' }
  if (source !== 'Secret' && treatments[secrecy].shows(value))
    return { fault: literalFault[secrecy] }
  return { value }
}

const IS_HIDDEN = `is ${REDACTED}, which stands for a hidden value and is no value`

const HIDDEN = {
  spec: `${IS_HIDDEN}: write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put the value into the Secret, into an entry of the same id, name or clientId`,
  Secret: `${IS_HIDDEN}: write the value itself, or $PLATFORM_CONFIG_<NAME>, a variable of the operator`,
} as const

const literalFault = {
  whole: `is a literal secret in the open: ${ADVICE}`,
  url: `is a URL with user information in the open: ${ADVICE}, as a whole`,
  dsn: `is a data source name that may hold a secret, in the open: ${ADVICE}, as a whole`,
  text: 'holds a URL with user information in the open: leave that out, or put it into the Secret',
} as const

const REFERENCE = /^\$(PLATFORM_CONFIG_[A-Z0-9_]+)$/

/** The variable that a value names, in a field where that is read so; null = none (contract 6.3). */
export const variableIn = (value: string, secrecy: Secrecy): string | null =>
  secrecy === 'text' ? null : (REFERENCE.exec(value)?.[1] ?? null)

/** Whether a value names a variable of the operator, in a field where that is read so. */
export const isReference = ({ value, rule }: Leaf): boolean =>
  typeof value === 'string' && variableIn(value, rule.secrecy) !== null
