// Which paths lead to another handler, whatever the method.
import { expect, test } from 'vitest'
import { newContext } from '../../../../src/gateway/request-context.ts'
import {
  type DelegatedRouteDeps,
  delegatedRoute,
} from '../../../../src/gateway/stages/delegated-routes.ts'
import { callTo } from '../request-builder.ts'

const route = (path: string): DelegatedRouteDeps['delegatedRoutes'][number] => ({
  path,
  target: 'Webhook',
  answer: async () => ({ status: 200, headers: {}, body: Buffer.from(path) }),
})

const ROUTES = ['/authorize', '/login/', '/login/callback', '/auth/'].map(route)

test.each([
  { target: '/authorize', by: '/authorize' },
  { target: '/authorize?timeout=3s', by: '/authorize' },
  { target: '/authorize/', by: null },
  { target: '/authorize/x', by: null },
  { target: '/Authorize', by: null },
  { target: '/%61uthorize', by: null },
  { target: '//authorize', by: null },
  { target: '/login/', by: '/login/' },
  { target: '/login/callback', by: '/login/' },
  { target: '/login', by: null },
  { target: '/loginx/', by: null },
  { target: '/auth/a/b?c', by: '/auth/' },
  { target: '/auth/..', by: '/auth/' },
  { target: '/', by: null },
])('$target leads to $by by any method', async ({ target, by }) => {
  for (const method of ['GET', 'POST', 'DELETE', 'QUERY']) {
    const context = newContext(callTo(target, { method }))
    const answer = await delegatedRoute(context, { delegatedRoutes: ROUTES })
    expect(Buffer.isBuffer(answer?.body) ? answer.body.toString() : null).toBe(by)
    expect(context.target).toBe(by === null ? 'Other' : 'Webhook')
  }
})
