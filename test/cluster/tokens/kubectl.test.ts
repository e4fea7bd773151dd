// Tokens in kubectl: apply, wait, get, explain (contract 1.1, 1.2, 1.6, 4.4).
import { describe, expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { bearerOf } from './platform-state.ts'
import {
  type StoredToken,
  bornPlus,
  issuedInTime,
  newToken,
  tokenClientOf,
  under,
} from './token-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)

const HEAD = ['NAME', 'READY', 'REASON', 'EXPIRES', 'AGE']
const WIDE = [...HEAD, 'KEY ID', 'OWNER']

/** The standard output of kubectl. @throws Error when it fails */
const printed = (args: readonly string[], input = ''): Promise<string> =>
  mustKubectl(plane, args, { input })

/** Expects that kubectl wait succeeds. */
async function waited(name: string, condition: string): Promise<void> {
  const met = `directclusterendpointtoken.management.platform.sh/${name} condition met\n`
  const args = ['wait', `--for=${condition}`, `dcet/${name}`, '--timeout=20s']
  expect(await printed(args)).toBe(met)
}

const rows = (table: string): readonly (readonly string[])[] =>
  table
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd().split(/ {2,}/))

describe.concurrent('kubectl', () => {
  test.each([
    ['apply', '-f', '-'],
    ['apply', '--server-side', '-f', '-'],
    ['create', '-f', '-'],
  ])('%s %s creates a token, and wait returns when it is Ready (4.4)', async (...args) => {
    const manifest = newToken()
    const name = manifest.metadata.name ?? ''
    await printed(args, JSON.stringify(manifest))
    await waited(name, 'jsonpath={.status.token}')
    await waited(name, 'condition=Ready')
    const token = await printed(['get', 'dcet', name, '-o', 'jsonpath={.status.token}'])
    expect(token).toMatch(/^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+$/)
  })

  test('wait returns when a token ends (4.4)', async () => {
    const { name } = (await issuedInTime(tokens, () => tokens.create({ ttl: 3 }))).metadata
    await waited(name, 'condition=Ready=false')
    await waited(name, "jsonpath={.status.conditions[?(@.type=='Ready')].reason}=Expired")
    const last = await printed([
      'get',
      'dcet',
      name,
      '-o',
      'jsonpath={.status.token}|{.status.keyID}',
    ])
    expect(last).toMatch(/^\|\S+$/)
  })

  test('apply of the same manifest changes nothing, of another spec is rejected (1.4)', async () => {
    const manifest = newToken({ ttl: 600 })
    const apply = ['apply', '-f', '-']
    await printed(apply, JSON.stringify(manifest))
    const token = await tokens.shown(manifest.metadata.name ?? '', 'Issued')
    expect(await printed(apply, JSON.stringify(manifest))).toMatch(/ unchanged\n$/)
    const other = JSON.stringify({ ...manifest, spec: { ttl: 60 } })
    const { code, stderr } = await plane.kubectl(apply, { input: other })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        'spec is immutable; keep it, or delete this token and create another',
      ),
    })
    expect(await tokens.read(token)).toEqual(token)
  })

  test('get shows the state of a token and not status.token (1.6)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const owned = await tokens.issue({ ttl: 3600 }, under(owner))
    const alone = await tokens.issue({ ttl: 3600 })
    const refused = await tokens.shown(
      await tokens.create({}, under(await keys.create({ disabled: true }))),
      'OwnerNotReady',
    )
    const age = expect.stringMatching(/^\d+s$/)
    const rowOf = (token: StoredToken) => [
      token.metadata.name,
      'True',
      'Issued',
      bornPlus(token, 3600),
      age,
    ]
    const names = [owned, alone, refused].map(({ metadata }) => metadata.name)
    const waiting = [refused.metadata.name, 'False', 'OwnerNotReady', expect.anything()]
    const narrow = await printed(['get', 'dcet', ...names])
    expect(rows(narrow)).toEqual([HEAD, rowOf(owned), rowOf(alone), waiting])
    const wide = await printed(['get', 'dcet', ...names, '-o', 'wide'])
    expect(rows(wide)).toEqual([
      WIDE,
      [...rowOf(owned), owned.status.keyID, owner.metadata.name],
      [...rowOf(alone), alone.status.keyID],
      waiting,
    ])
    expect(narrow + wide).not.toContain(bearerOf(owned).slice(-20))
  })

  test('get platform lists tokens, get all does not (1.1)', async () => {
    const { metadata } = await tokens.create()
    const named = `directclusterendpointtoken.management.platform.sh/${metadata.name}`
    expect((await printed(['get', 'platform', '-o', 'name'])).split('\n')).toContain(named)
    expect(await printed(['get', 'all', '--all-namespaces', '-o', 'name'])).not.toContain(
      'directclusterendpointtoken',
    )
  })

  // biome-ignore format: a table
  test.each([
    { field: '', says: 'a signed token with which a client connects straight to a connected cluster' },
    { field: '.spec.ttl', says: 'Absent or 0, 86400 (a day)' },
    { field: '.spec.scope.clusters.cluster', says: '* stands for all clusters' },
    { field: '.status.token', says: 'Absent, it is not issued, or it has ended' },
    { field: '.status.conditions', says: 'Ready is True (Issued) while the token is valid' },
    { field: '.status.owner', says: 'The access key that the token was issued under' },
  ])('explain dcet$field describes the field (1.2)', async ({ field, says }) => {
    const text = await printed(['explain', `dcet${field}`])
    expect(text.replaceAll(/\s+/g, ' ')).toContain(says)
  })

  test('rejects an unknown field (1.2)', async () => {
    const input = JSON.stringify(newToken({ owner: uniqueName('ci') } as object))
    const { code, stderr } = await plane.kubectl(['create', '-f', '-'], { input })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('unknown field') })
  })
})
