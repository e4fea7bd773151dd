import { createContext, runInContext } from 'node:vm'
import {
  type Evaluate,
  type EvaluationRequest,
  type EvaluationResult,
  failed,
} from '../../../src/sync/sandbox/protocol.ts'

/** Where the objects of the tests stand. */
export const PLACE = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }

/** A sandbox with the requests that it got. */
export interface CountingSandbox {
  readonly evaluate: Evaluate
  readonly requests: readonly EvaluationRequest[]
}

/**
 * Counts evaluations, and evaluates at once in this process: without bounds, and without functions of its own.
 *
 * @param answers given in turn, before anything is evaluated
 */
export function countingSandbox(...answers: readonly EvaluationResult[]): CountingSandbox {
  const requests: EvaluationRequest[] = []
  const realm = createContext({ __proto__: null })
  const evaluate: Evaluate = async (request) => {
    requests.push(request)
    return answers[requests.length - 1] ?? resultOf(request, realm)
  }
  return { evaluate, requests }
}

/** The variables of the expression in a request: value, valueExists and context. */
export const variablesOf = ({ value, context, path }: EvaluationRequest): readonly unknown[] => [
  JSON.parse(value),
  true,
  { ...(JSON.parse(context) as object), path },
]

function resultOf(request: EvaluationRequest, realm: object): EvaluationResult {
  const given = `...JSON.parse(${JSON.stringify(JSON.stringify(variablesOf(request)))})`
  const code = `'use strict'; ((value, valueExists, context) => (\n${request.source}\n))(${given})`
  try {
    const result: unknown = runInContext(code, realm)
    return result === undefined || result === null
      ? { kind: 'remove' }
      : { kind: 'value', json: JSON.stringify(result) }
  } catch {
    return failed('it failed')
  }
}
