// What kubectl auth can-i says about our kinds to people who manage them by self-service (contract 11.3).
import { describe, expect, test } from 'vitest'
import { GROUP } from '../../../../src/api/names.ts'
import type { CallerName, SelfServiceSetup } from './self-service-gateway.ts'

/** Declares the tests of self reviews. */
export function testSelfReviews(setup: SelfServiceSetup): void {
  const { callers, keys, plane } = setup
  const canI = async (by: Exclude<CallerName, 'child'>, ...args: readonly string[]) => {
    const { kubeconfig } = callers[by]
    const { stdout } = await plane.kubectl(['auth', 'can-i', ...args], { kubeconfig })
    return stdout.trim()
  }

  describe('kubectl auth can-i about our kinds, as self-service and RBAC decide (11.3)', () => {
    test.each([
      { by: 'login', asked: 'list oak', says: 'yes' },
      { by: 'login', asked: 'create oak', says: 'yes' },
      { by: 'userKey', asked: 'watch oak', says: 'yes' },
      { by: 'scoped', asked: 'delete oak', says: 'yes' },
      { by: 'team', asked: 'list oak', says: 'no' },
      { by: 'team', asked: 'create dcet', says: 'yes' },
      { by: 'login', asked: 'list configs', says: 'yes' },
      { by: 'login', asked: 'delete configs', says: 'no' },
      { by: 'login', asked: 'list secrets', says: 'no' },
      { by: 'admin', asked: 'list oak', says: 'yes' },
    ] as const)('$by, $asked: $says', async ({ by, asked, says }) => {
      expect(await canI(by, ...asked.split(' '))).toBe(says)
    })

    test.each([
      { resource: 'ownedaccesskeys', reason: 'own access keys only' },
      { resource: 'directclusterendpointtokens', reason: 'own tokens only' },
      { resource: 'configs', reason: 'read only' },
    ])('a review of $resource has the reason "$reason"', async ({ resource, reason }) => {
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
      const spec = { resourceAttributes: { verb: 'list', group: GROUP, resource } }
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec,
      }
      const headers = { 'content-type': 'application/json' }
      const sent = { method: 'POST', headers, body: JSON.stringify(review) }
      const { body } = await setup.ask(callers.login.token, path, sent)
      expect(JSON.parse(body)).toMatchObject({ status: { allowed: true, reason } })
    })

    test('with a name: yes for an own object, no for a name of another user or of nobody', async () => {
      const [own, other] = await Promise.all([
        keys.create({ user: 'ada' }),
        keys.create({ user: 'bob' }),
      ])
      const names = [own.metadata.name, other.metadata.name, 'nobody-has-it']
      const says = await Promise.all(names.map((name) => canI('login', 'get', `oak/${name}`)))
      expect(says).toEqual(['yes', 'no', 'no'])
    })

    test('the list of all rights has those of self-service', async () => {
      const lines = (await canI('login', '--list')).split('\n')
      const line = (resource: string) => lines.find((one) => one.startsWith(`${resource} `))
      expect(line('ownedaccesskeys.management.platform.sh')).toMatch(/\[.*\bcreate\b.*\]$/u)
      expect(line('configs.management.platform.sh')).toMatch(/\[get list watch\]$/u)
    })
  })
}
