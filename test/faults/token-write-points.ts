// The places where the operator writes for tokens and signing keys; see write-points.ts.
import { expect } from 'vitest'
import {
  EXPIRED_ANNOTATION,
  JWKS_CONFIG_MAP,
  REVOKED_TOKENS_PREFIX,
  ROTATE_ANNOTATION,
  SECRETS,
  TOKENS,
  WITHDRAW_ANNOTATION,
} from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import type { KeyClient } from '../cluster/keys/key-client.ts'
import { type PlatformState, jwksIn } from '../cluster/tokens/platform-state.ts'
import { type TokenClient, under } from '../cluster/tokens/token-client.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import type { Match } from '../support/fault-proxy-rules.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { uniqueName } from '../support/object-builder.ts'
import type { Work, WritePoint } from './write-points.ts'

const { namespace } = OPERATOR_ACCOUNT
const SOON = { withinMs: 20_000 }
const SECRETS_PATH = pathOf(SECRETS, { namespace })

/** What the points of tokens and of rotation stand on. */
export interface World {
  readonly keys: KeyClient
  readonly tokens: TokenClient
  readonly platform: PlatformState
}

/** The writes of issue and revocation, each to objects of its own. */
export function tokenPoints({ keys, tokens, platform }: World): readonly WritePoint[] {
  const issued = async (name: string, spec = {}): Promise<string> => {
    const key = await keys.shown(await keys.create(), 'Active')
    await tokens.shown(await tokens.create(spec, { name, ...under(key) }), 'Issued')
    return key.metadata.name
  }
  const isRevoked = async (name: string): Promise<void> => {
    const token = await tokens.shown(name, 'Revoked')
    expect(token.status).not.toHaveProperty('token')
    expect(await platform.revoked()).toHaveProperty([token.metadata.uid])
  }
  const point = (
    title: string,
    make: (name: string, path: string) => Omit<WritePoint, 'name'>,
  ): WritePoint => {
    const name = uniqueName('fault')
    return { name: title, ...make(name, pathOf(TOKENS, { name })) }
  }
  const disable = async (name: string): Promise<void> => {
    await keys.patch(await issued(name), { spec: { disabled: true } })
  }
  let uid = ''
  const isEnded = async (name: string): Promise<void> => {
    await tokens.gone(name)
    expect(await platform.revoked()).toHaveProperty([uid])
  }
  const removed = async (name: string): Promise<void> => {
    await issued(name)
    uid = (await tokens.read(name))?.metadata.uid ?? ''
    await tokens.remove(name)
  }
  const deletedOnExpiry = { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } }
  const issue = (name: string): Work => ({
    lead: () => tokens.create({}, { name }),
    ends: () => tokens.shown(name, 'Issued'),
  })
  return [
    point('adoption of a token', (name, path) => ({ ...issue(name), isIt: is('PATCH', path) })),
    point('issue of a token', (name, path) => ({
      ...issue(name),
      isIt: is('PATCH', `${path}/status`, '"token":"ey'),
    })),
    point('record of a revocation', (name) => ({
      isIt: ({ method, body }) =>
        (method === 'POST' || method === 'PUT') && body.includes(REVOKED_TOKENS_PREFIX),
      lead: () => disable(name),
      ends: () => isRevoked(name),
    })),
    point('status of a revocation', (name, path) => ({
      isIt: is('PATCH', `${path}/status`, 'Revoked'),
      lead: () => disable(name),
      ends: () => isRevoked(name),
    })),
    point('status of the expiry of a token', (name, path) => ({
      isIt: is('PATCH', `${path}/status`, 'Expired'),
      lead: () => tokens.create({ ttl: 3 }, { name }),
      ends: () => tokens.shown(name, 'Expired'),
    })),
    point('removal of the finalizer of a token', (name, path) => ({
      isIt: is('PATCH', path, '"remove"'),
      lead: () => removed(name),
      ends: () => isEnded(name),
      heir: issue(name),
    })),
    point('deletion of a token that has ended', (name, path) => ({
      isIt: is('DELETE', path),
      lead: () => tokens.create({ ttl: 3 }, { name, ...deletedOnExpiry }),
      ends: () => tokens.gone(name),
      heir: issue(name),
    })),
    point('deletion of a token with its key', (name, path) => ({
      isIt: is('DELETE', path),
      lead: async () => {
        const owner = await issued(name)
        uid = (await tokens.read(name))?.metadata.uid ?? ''
        // The garbage collector comes later: the key stays until its tokens are gone.
        await keys.remove(owner)
      },
      ends: () => isEnded(name),
    })),
  ]
}

/** The writes of rotation and withdrawal; each changes the one set of keys. */
export function rotationPoints({ platform }: World): readonly WritePoint[] {
  const kids = async (): Promise<readonly string[]> =>
    jwksIn(await platform.record()).map(({ kid = '' }) => kid)
  const newest = async (): Promise<string> => (await kids()).at(-1) ?? ''
  let kid = ''
  const rotate = async (): Promise<void> => {
    // A key that waits would be taken for the next one: it goes first.
    for (const waiting of (await kids()).slice(1)) await withdrawn(waiting)
    kid = await newest()
    await platform.annotate(ROTATE_ANNOTATION, 'now')
  }
  const withdrawn = async (which: string): Promise<void> => {
    await platform.annotate(WITHDRAW_ANNOTATION, which)
    await isWithdrawn(which)
  }
  const isWithdrawn = (which: string): Promise<void> =>
    eventuallyPasses(
      `${which} is withdrawn`,
      async () => {
        expect(await kids()).not.toContain(which)
        expect((await platform.secrets()).map(kidOf)).not.toContain(which)
      },
      SOON,
    )
  const isRotated = (): Promise<void> =>
    eventuallyPasses(
      'there is another key, and one Secret for each',
      async () => {
        const now = await kids()
        expect(now).toContain(kid)
        expect(now.length).toBe(2)
        expect((await platform.secrets()).map(kidOf)).toEqual(now)
      },
      SOON,
    )
  const withdraw = async (): Promise<void> => {
    kid = await newest()
    await platform.annotate(WITHDRAW_ANNOTATION, kid)
  }
  const publishes: Match = ({ method, body }) =>
    (method === 'POST' || method === 'PUT') && body.includes(JWKS_CONFIG_MAP)
  // Inside the body the set is a text in a text.
  const publishesTwo: Match = (request) =>
    publishes(request) && request.body.split('\\"use\\"').length > 2
  return [
    {
      name: 'creation of a signing key',
      isIt: is('POST', SECRETS_PATH),
      lead: rotate,
      ends: isRotated,
    },
    { name: 'publication of a signing key', isIt: publishesTwo, lead: rotate, ends: isRotated },
    {
      name: 'withdrawal of a signing key',
      isIt: publishes,
      lead: withdraw,
      ends: () => isWithdrawn(kid),
    },
    {
      name: 'deletion of its Secret',
      isIt: ({ method, path }) => method === 'DELETE' && path.startsWith(`${SECRETS_PATH}/`),
      lead: withdraw,
      ends: () => isWithdrawn(kid),
    },
  ]
}

/** The Secret's kid. */
export const kidOf = ({
  data = {},
}: {
  readonly data?: Readonly<Record<string, string>>
}): string => Buffer.from(data['kid'] ?? '', 'base64').toString()

/** Requests with this method to this very path, and with this text in their body. */
export const is =
  (method: string, path: string, says = ''): Match =>
  (request) =>
    request.method === method && request.path === path && request.body.includes(says)
