// Patches whose result can never stand where their path leads, by their syntax alone (contract 19.3).
import { SYNCED_RESOURCES, type SyncedKind } from '../objects/synced-kinds.ts'
import type { Expression } from './expression.ts'
import type { ResultKind } from './expression-result.ts'
import { type FieldType, typeAt } from './field-types.ts'
import type { Patch } from './parse.ts'
import { neededText } from './type-fault.ts'

/**
 * A sentence for each expression with a result of another type than the field has: no object that it applies to can be
 * written.
 */
export function mistypedPatches(kind: SyncedKind, patches: readonly Patch[]): readonly string[] {
  return patches.flatMap((patch) => {
    const type =
      patch.kind === 'expression' ? typeAt(SYNCED_RESOURCES[kind].kind, patch.path) : null
    if (patch.kind !== 'expression' || type === null) return []
    const sentence = (name: string, expression: Expression | null): readonly string[] =>
      expression === null || expression.gives === null || canBe(expression.gives, type)
        ? []
        : [
            `${patch.entry} ${name} gives ${NAMES[expression.gives]}, and the field must be ${neededText(type)}: what it patches is not written`,
          ]
    return [
      ...sentence('expression', patch.forward),
      ...sentence('reverseExpression', patch.reverse),
    ]
  })
}

const NAMES: Readonly<Record<ResultKind, string>> = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list',
  object: 'an object',
}

function canBe(result: ResultKind, type: FieldType): boolean {
  if (typeof type !== 'string') return result === ('list' in type ? 'list' : 'object')
  switch (type) {
    case 'text':
    case 'base64':
    case 'time':
      return result === 'text'
    case 'boolean':
      return result === 'boolean'
    case 'int32':
    case 'int64':
      return result === 'number'
    case 'int32 or text':
      return result === 'number' || result === 'text'
    default:
      return type satisfies never
  }
}
