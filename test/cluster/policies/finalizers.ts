// Who may take the operator's finalizer off.
import { REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { WRITES, onOurs } from './callers.ts'
import type { Manifest, Row } from './ways.ts'

/** What each caller may beside reading and writing our kinds. */
export const FINALIZER_CALLERS = {
  writer: [WRITES],
  keyFinisher: [WRITES, onOurs(['update'], ['ownedaccesskeys/finalizers'])],
  tokenFinisher: [WRITES, onOurs(['update'], ['directclusterendpointtokens/finalizers'])],
} as const

type FinalizerCaller = keyof typeof FINALIZER_CALLERS

const FOREIGN = 'example.com/backup'

interface Case {
  readonly name: string
  readonly by: FinalizerCaller
  readonly from: readonly string[]
  readonly to: readonly string[]
  /** Whether something else of the object changes, too. */
  readonly noted?: true
  readonly refused?: true
}

/** Each way of touching finalizers of a kind, by who may for that kind and who may for the other. */
export function finalizerRows(
  plural: string,
  may: FinalizerCaller,
  mayNot: FinalizerCaller,
): readonly Row<FinalizerCaller>[] {
  // biome-ignore format: a table
  const cases: readonly Case[] = [
    { name: 'ours away', by: 'writer', from: [REVOKE_FINALIZER], to: [], refused: true },
    { name: 'ours away beside another', by: 'writer', from: [REVOKE_FINALIZER, FOREIGN], to: [FOREIGN], refused: true },
    { name: 'ours to another', by: 'writer', from: [REVOKE_FINALIZER], to: [FOREIGN], refused: true },
    { name: 'ours away, with the right for the other kind', by: mayNot, from: [REVOKE_FINALIZER], to: [], refused: true },
    { name: 'ours away', by: may, from: [REVOKE_FINALIZER], to: [] },
    { name: 'ours away beside another', by: may, from: [REVOKE_FINALIZER, FOREIGN], to: [FOREIGN] },
    { name: 'another away beside ours', by: 'writer', from: [REVOKE_FINALIZER, FOREIGN], to: [REVOKE_FINALIZER] },
    { name: 'none to ours', by: 'writer', from: [], to: [REVOKE_FINALIZER] },
    { name: 'not the finalizer', by: 'writer', from: [REVOKE_FINALIZER], to: [REVOKE_FINALIZER], noted: true },
  ]
  return cases.map(({ name, by, from, to, noted, refused }) => ({
    name,
    by,
    from: held(from),
    to: held(to, noted && { annotations: { note: 'changed' } }),
    ...(refused && { refused: { code: 403, says: missing(by, plural) } }),
  }))
}

const held = (finalizers: readonly string[], more: object = {}): Manifest => ({
  metadata: { ...more, ...(finalizers.length > 0 && { finalizers }) },
  spec: {},
})

const missing = (by: string, plural: string): string =>
  `metadata.finalizers: taking off management.platform.sh/revoke needs the verb update on ${plural}/finalizers, which ${by} does not have; keep it, as it holds the object until its credential is revoked everywhere`
