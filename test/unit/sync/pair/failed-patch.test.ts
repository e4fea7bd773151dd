import { expect, test } from 'vitest'
import { ReportedFailure } from '../../../../src/kube/controller/reported-failure.ts'
import { afterFailedPatch } from '../../../../src/sync/pair/failed-patch.ts'
import { type Patch, checkPatches } from '../../../../src/sync/patches/parse.ts'
import { WITHOUT_CLUSTERS, hostReference } from '../../../../src/sync/patches/reference.ts'
import { type Failure, OVERRUN, failed } from '../../../../src/sync/sandbox/protocol.ts'
import { SEVERAL } from '../translation.ts'

const NOW_MS = 1000

const entry = {
  path: 'data.a',
  reference: { kindPath: 'kind', apiVersionPath: 'version', namePath: 'name', namespacePath: 'ns' },
}
const patch = checkPatches([entry] as never, 'p', []).patches[0] as Patch

/** The failure of a reference. */
function failureOf(value: object, given: Partial<typeof WITHOUT_CLUSTERS>): Failure {
  const context = { ...WITHOUT_CLUSTERS, ...given, place: SEVERAL, namespace: 'shop' }
  if (patch.kind !== 'reference') throw new Error('no reference')
  const result = hostReference(value as never, patch.reference, context)
  if (result.ok) throw new Error('it did not fail')
  return result.failure
}

const secret = { kind: 'Secret', name: 'a', ns: 'other' }

test.each<{ name: string; failure: Failure; next: unknown }>([
  {
    name: 'an error of an expression is tried after five minutes',
    failure: failed('it threw an error'),
    next: { result: 'later', atMs: 301_000 },
  },
  {
    name: 'a name that no object can have is tried after five minutes',
    failure: failureOf({ ...secret, name: 'a/b' }, {}),
    next: { result: 'later', atMs: 301_000 },
  },
  {
    name: 'an overrun backs off up to five minutes',
    failure: OVERRUN,
    next: ['text', undefined, 300_000],
  },
  {
    name: 'a kind that is not served backs off as other errors do',
    failure: failureOf({ ...secret, kind: 'Thing', version: 'x.y/v1' }, { isServed: () => false }),
    next: ['text', undefined, null],
  },
  {
    name: 'a namespace that has none on the host backs off as other errors do',
    failure: failureOf(secret, { isOpen: () => false }),
    next: ['text', undefined, null],
  },
])('$name (19.8)', ({ failure, next }) => {
  const after = (): unknown => {
    try {
      return afterFailedPatch({ ok: false, patch, path: 'data.a', failure }, 'text', NOW_MS)
    } catch (error) {
      if (!(error instanceof ReportedFailure)) throw error
      return [error.message, error.stack, error.longestMs]
    }
  }
  expect(after()).toEqual(next)
})
