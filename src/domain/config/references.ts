import { type Fault, faultAt } from './fault.ts'
import type { Secrecy } from './fields.ts'
import type { JsonMap } from './json.ts'
import { type Layer, sourceAt } from './merge.ts'
import { REDACTED, treatments } from './secrecy.ts'
import { type Leaf, mapLeaves } from './walk.ts'

/** The operator's environment: the value of a variable, undefined when it is not set. */
export type Environment = (name: string) => string | undefined

/** Settings with the values of the environment in the place of `$NAME`. */
export interface Resolved {
  readonly settings: JsonMap
  readonly faults: readonly Fault[]
}

const REFERENCE = /^\$(PLATFORM_CONFIG_[A-Z0-9_]+)$/
const ALMOST_REFERENCE = /^\$\{?PLATFORM_CONFIG/

/** Whether a value names a variable of the operator, in a field where that is read so. */
export const isReference = ({ value, rule }: Leaf): boolean =>
  typeof value === 'string' && rule.secrecy !== 'text' && REFERENCE.test(value)

const ADVICE =
  'write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put it into the Secret'

/**
 * Replaces `$NAME` in fields that may be secret by variables of the environment, and faults literal
 * secrets outside the Secret (contract 6.3). What is at fault is left out of the settings.
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
  const settings = mapLeaves(merged, (leaf) => {
    if (typeof leaf.value !== 'string') return leaf.value
    const source = sourceAt(layers, leaf.path) ?? 'spec'
    const answer = resolve(leaf.value, leaf.rule.secrecy, source !== 'Secret', environment)
    if ('value' in answer) return answer.value
    faults.push(faultAt(leaf.path, source, answer.fault))
    return undefined
  })
  return { settings, faults }
}

type Answer = { readonly value: string } | { readonly fault: string }

function resolve(
  value: string,
  secrecy: Secrecy,
  inTheOpen: boolean,
  environment: Environment,
): Answer {
  if (treatments[secrecy].isHidden(value))
    return { fault: `is ${REDACTED}, which stands for a hidden value and is none: ${ADVICE}` }
  const name = secrecy === 'text' ? undefined : REFERENCE.exec(value)?.[1]
  if (name !== undefined) {
    const found = environment(name)
    if (found) return { value: found }
    return { fault: `names ${name}, which is not set in the operator's environment: set it` }
  }
  if (secrecy !== 'text' && ALMOST_REFERENCE.test(value))
    return { fault: 'is no whole $PLATFORM_CONFIG_<NAME>: use only A-Z, 0-9 and _ in the name' }
  if (inTheOpen && treatments[secrecy].shows(value)) return { fault: literalFault[secrecy] }
  return { value }
}

const literalFault = {
  whole: `is a literal secret in the open: ${ADVICE}`,
  url: `is a URL with user information in the open: ${ADVICE}, as a whole`,
  dsn: `is a data source name that may hold a secret, in the open: ${ADVICE}, as a whole`,
  text: 'holds a URL with user information in the open: leave that out, or put it into the Secret',
} as const
