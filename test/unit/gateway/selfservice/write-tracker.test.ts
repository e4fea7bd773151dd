// Whether a request of self-service may have written something, by all that it sent (13.1).
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { WriteTracker } from '../../../../src/gateway/selfservice/write-tracker.ts'
import {
  type UnavailableOutcome,
  type UpstreamCall,
  UpstreamUnavailable,
} from '../../../../src/kube/proxy/types.ts'
import { call } from '../../kube/proxy/upstream-server.ts'

const KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'

async function trackedAfter(
  sent: Partial<UpstreamCall>,
  result: number | UnavailableOutcome,
): Promise<boolean> {
  const tracker = new WriteTracker({
    send: async () => {
      if (typeof result === 'string') throw new UpstreamUnavailable(result, 'no answer')
      return { status: result, headers: {}, body: Readable.from([]) }
    },
  })
  await tracker.send(call(sent)).catch(() => null)
  return tracker.mayHaveWritten
}

describe('a request of self-service may have written', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'after a %s that is stored or lost (13.1)',
    async (method) => {
      for (const result of [200, 201, 500, 504, 'unanswered'] as const)
        expect(await trackedAfter({ method, path: KEYS }, result)).toBe(true)
    },
  )

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'not after a %s that is refused or not sent (13.1)',
    async (method) => {
      for (const result of [403, 409, 422, 429, 'unprocessed', 'accountRefused'] as const)
        expect(await trackedAfter({ method, path: KEYS }, result)).toBe(false)
    },
  )

  test.each([
    { name: 'a read', sent: { path: KEYS } },
    { name: 'a dry run', sent: { method: 'POST', path: `${KEYS}?fieldManager=a&dryRun=All` } },
    {
      name: 'a review',
      sent: { method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews' },
    },
  ])('not after $name, whatever its answer (13.1)', async ({ sent }) => {
    for (const result of [200, 'unanswered'] as const)
      expect(await trackedAfter(sent, result)).toBe(false)
  })
})
